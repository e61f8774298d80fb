"""Where a CUDA text does not parse."""

from kernelwright.source.cuda.text import parse, walk


def first_error(text: str) -> tuple[int, str] | None:
    """The line, from 0, of the first place that does not parse, and what is wrong, without a full stop."""
    source = parse(text)
    if not source.tree.root_node.has_error:
        return None
    for node in walk(source.tree.root_node):
        for child in node.children:
            if child.is_missing:
                return child.start_point.row, f"{child.type!r} is missing"
        if node.type == "ERROR":
            return node.start_point.row, f"this is no C++: {source.content(node).strip().splitlines()[0][:40]}"
    return None
