"""Broadcasting along another axis: a reduced axis that is not kept, a new axis on the other side."""

from collections.abc import Iterator

from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import Code, arguments, field, keywords, replaced, without

_SUBSCRIPTS = {"[:, None]": "[None, :]", "[None, :]": "[:, None]"}


def faults(code: Code) -> Iterator[Fault]:
    for node, _ in code.everywhere("call", "subscript"):
        if node.type == "subscript":
            value = field(node, "value")
            rest = code.content(node)[len(code.content(value)) :]
            if rest in _SUBSCRIPTS:
                text = code.content(value) + _SUBSCRIPTS[rest]
                yield Fault((replaced(node, text),), f"{code.content(node)} became {text}")
            elif rest.count("None") > 1 and ":" in rest:
                text = code.content(value) + "[" + ", ".join(_turned(rest[1:-1].split(", "))) + "]"
                yield Fault((replaced(node, text),), f"{code.content(node)} became {text}")
            continue
        given = keywords(code, node)
        for name in ("keepdim", "keep_dims"):
            if name in given:
                yield Fault((without(code, given[name]),), f"dropped: {code.content(given[name])}")
        called, listed = code.called(node), [code.content(argument) for argument in arguments(node)]
        if called in (".view", ".reshape") and listed.count("1") > 1:
            parts = arguments(node)
            changes = tuple(
                replaced(part, text)
                for part, text in zip(parts, _turned(listed), strict=True)
                if code.content(part) != text
            )
            yield Fault(changes, f"({', '.join(listed)}) became ({', '.join(_turned(listed))})")


def _turned(sizes: list[str]) -> list[str]:
    """The one axis that is not new, moved to the next place."""
    return [sizes[-1], *sizes[:-1]]


OPERATOR = Operator("wrong-broadcast", "broadcasting along another axis", faults)
