"""Arguments for a kernel that is a template: those of its launches in the file where these are plain, else usual ones."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from kernelwright.source.cuda.definitions import File, Function, Launch, read_apart
from kernelwright.source.cuda.expressions import Names
from kernelwright.source.cuda.flow import Flow
from kernelwright.source.cuda.numbers import Numbers
from kernelwright.source.cuda.text import field, of_type

_USUAL = (
    (r"BM|BN|BLOCK_(?:SIZE_)?[MN]|TILE_[MN]", "64"),
    (r"BK|BLOCK_(?:SIZE_)?K|TILE_K|TM|TN|(?:.*_)?(?:unroll|vec\w*|items\w*)", "8"),
    (r"(?:.*_)?(?:radius|dim|log\w*)", "2"),
    (r"(?:.*_)?(?:warps?\w*|pack\w*|rows?\w*|cols?\w*per\w*)", "4"),
    (r"\w*(?:warp_?size|tile|block_?dim|width)\w*", "32"),
    (r"\w*(?:block|threads?|size)\w*", "256"),
)
_NUMBER = re.compile(r"-?\d+[uUlL]*$|true$|false$")
_TYPES = ("float", "half", "int")
_KINDS = ("type_parameter_declaration", "optional_type_parameter_declaration")


def arguments(file: File, kernel: Function) -> tuple[tuple[str, ...], ...]:
    """Arguments to try, best first; none where a parameter is of another kind than a type or a number."""
    parameters = list(_parameters(file, kernel))
    if not parameters or any(not kind for _, kind, _ in parameters):
        return ()
    found = [launched(file, kernel, one) for one in file.launches_of(kernel.name)]
    usual = [tuple(_usual(name, kind, default, chosen) for name, kind, default in parameters) for chosen in _TYPES]
    several = any(kind == "type" for _, kind, _ in parameters)
    return tuple(dict.fromkeys((*(one for one in found if one is not None), *(usual if several else usual[:1]))))


def of_launch(file: File, kernel: Function, launch: Launch) -> tuple[str, ...] | None:
    """The arguments of a launch that names all of them as numbers and names of types; None for any other."""
    listed, parameters = _listed(launch), list(_parameters(file, kernel))
    if len(listed) != len(parameters):
        return None
    names, found = Names(file, launch.function), list[str]()
    for node, (_, kind, _) in zip(listed, parameters, strict=True):
        # A name alone reads as a type.
        written, number = file.source.content(node), names.number(field(node, "type") or node)
        is_type = kind == "type" and written.isidentifier() and written not in launch.function.templates
        if kind == "number" and number is not None:
            found.append(str(number) if number >= 0 else f"({number})")
        elif is_type or (kind == "bool" and written in ("true", "false")):
            found.append(written)
        else:
            return None
    return tuple(found)


def specialised(file: File, kernel: Function, given: tuple[str, ...]) -> File:
    """The file with the arguments in place of the template parameters of a kernel, which has lost none of its lines."""
    values = dict(zip(kernel.templates, given, strict=False))
    source, parts, at = file.source.source, list[bytes](), 0
    for node in of_type(kernel.node, "identifier", "type_identifier"):
        name = file.source.content(node)
        if name in values and node.start_byte >= at:
            parts += (source[at : node.start_byte], values[name].encode())
            at = node.end_byte
    return read_apart(b"".join((*parts, source[at:])).decode("utf-8", "replace"))


def _parameters(file: File, kernel: Function) -> Iterator[tuple[str, str, str]]:
    """Each template parameter's name, whether it is a "type", a "number" or a "bool", and its default."""
    listed = field(kernel.outer, "parameters")
    for node, name in zip(listed.named_children if listed is not None else (), kernel.templates, strict=False):
        written = file.source.content(node)
        default = written.partition("=")[2].strip()
        kind = field(node, "type")
        said = file.source.content(kind) if kind is not None else ""
        if node.type in _KINDS and "..." not in written:
            yield name, "type", default
        elif re.fullmatch(r"bool", said):
            yield name, "bool", default
        elif re.fullmatch(r"(?:unsigned|signed|long|short|int|uint|size_t|u?int\d+_t)(?: \w+)*", said):
            yield name, "number", default
        else:
            yield name, "", ""


def launched(file: File, kernel: Function, launch: Launch) -> tuple[str, ...] | None:
    """The arguments that a launch names, as numbers and types; None where one of them is neither."""
    given, parameters = _listed(launch), list(_parameters(file, kernel))
    if len(given) > len(parameters):
        return None
    found = [_said(file, launch, node, kind) for node, (_, kind, _) in zip(given, parameters, strict=False)]
    rest = parameters[len(given) :]
    if not given or None in found or any(not default and kind != "type" for _, kind, default in rest):
        return None
    return (*(one for one in found if one is not None), *(default or "float" for _, _, default in rest))


def _listed(launch: Launch) -> list[Node]:
    """The template arguments as written."""
    callee = field(launch.node, "function")
    listed = field(callee, "arguments") if callee is not None and callee.type == "template_function" else None
    return [one for one in listed.named_children if one.type != "comment"] if listed is not None else []


def _said(file: File, launch: Launch, node: Node, kind: str) -> str | None:
    written = file.source.content(node)
    if kind == "type":
        return None if written in launch.function.templates else written
    if _NUMBER.match(written):
        return written
    numbers = Numbers(Flow(file, launch.function), {})
    # A name alone reads as a type.
    found = numbers.named(written, node) if written.isidentifier() else numbers.of(node)
    if found is None:
        return None
    return str(bool(found)).lower() if kind == "bool" else str(int(found))


def _usual(name: str, kind: str, default: str, chosen: str) -> str:
    if kind == "type":
        return chosen
    if default:
        return default
    if kind == "bool":
        return "true"
    return next((number for pattern, number in _USUAL if re.fullmatch(pattern, name, re.IGNORECASE)), "4")
