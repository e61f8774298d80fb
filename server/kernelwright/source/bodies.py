"""What a body does that matters to its kernels: the names it mentions, what it assigns, launches and calls in loops."""

import dataclasses
from dataclasses import dataclass, field

from tree_sitter import Node

from kernelwright.source.definitions import NAME, RawLaunch
from kernelwright.source.document import Document
from kernelwright.source.imports import Aliases
from kernelwright.source.syntax import called, walk

_DEFINITIONS = ("function_definition", "class_definition")
_LOOPS = ("for_statement", "while_statement")


@dataclass
class Body:
    mentions: set[str] = field(default_factory=set)
    launches: list[RawLaunch] = field(default_factory=list)
    assignments: list[tuple[str, str]] = field(default_factory=list)  # target and value as written, in order
    called_in_loops: set[str] = field(default_factory=set)
    returns: bool = False  # a value, in what `node` itself is or a function in it


def read_body(document: Document, node: Node, aliases: Aliases, *, definitions: bool = True) -> Body:
    """Everything in `node`; without `definitions` what stands in functions and classes is left out."""
    found = Body()
    stack = [(node, False)]
    while stack:
        current, looped = stack.pop()
        kind = current.type
        if kind == "identifier":
            found.mentions.add(document.content(current))
            continue
        if kind in ("comment", "string") or (not definitions and kind in _DEFINITIONS):
            continue
        if kind == "assignment":
            found.assignments += _assigned(document, current)
        elif kind == "function_definition" and current != node:
            found.assignments += _local_function(document, current)
        elif kind == "return_statement":
            found.returns |= bool(current.named_children)
        elif kind == "call":
            found.launches += [
                _with_grid(launch, found.assignments) for launch in _launches(document, current, aliases)
            ]
            if looped and (function := current.child_by_field_name("function")) is not None:
                found.called_in_loops.add(document.content(function))
        looped = looped or kind in _LOOPS
        stack += [(child, looped) for child in reversed(current.named_children)]
    return found


def _assigned(document: Document, node: Node) -> list[tuple[str, str]]:
    left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
    if left is None or right is None:
        return []
    return [(document.content(left), document.content(right))]


def _local_function(document: Document, node: Node) -> list[tuple[str, str]]:
    """`def grid(meta): return (…)` counts as `grid = lambda meta: (…)`."""
    name = node.child_by_field_name("name")
    body = node.child_by_field_name("body")
    statements = walk(body, into=lambda part: part.type not in _DEFINITIONS) if body is not None else ()
    returned = [part for part in statements if part.type == "return_statement" and part.named_children]
    if name is None or len(returned) != 1:
        return []
    return [(document.content(name), f"lambda META: {document.content(returned[0].named_children[0])}")]


def _with_grid(launch: RawLaunch, assignments: list[tuple[str, str]]) -> RawLaunch:
    """Put what its grid's name was assigned last before the launch in place of the name."""
    given = next((value for target, value in reversed(assignments) if target == launch.grid), launch.grid)
    return dataclasses.replace(launch, grid=given)


def _launches(document: Document, call: Node, aliases: Aliases) -> list[RawLaunch]:
    """The launch that a call is: `callee[grid](…)`, or `functools.partial(callee[grid], …)`."""
    function, arguments = call.child_by_field_name("function"), call.child_by_field_name("arguments")
    if function is None or arguments is None:
        return []
    given = [child for child in arguments.named_children if child.type != "comment"]
    if function.type == "subscript":
        return _launch(document, function, given)
    if called(document, call, aliases) == "functools.partial" and given and given[0].type == "subscript":
        return _launch(document, given[0], given[1:])
    return []


def _launch(document: Document, subscript: Node, given: list[Node]) -> list[RawLaunch]:
    callee = subscript.child_by_field_name("value")
    if callee is None or callee.type not in ("identifier", "attribute", "call"):
        return []
    args, kwargs = [], []
    for child in given:
        if child.type != "keyword_argument":
            args.append(document.content(child))
            continue
        name, value = child.child_by_field_name("name"), child.child_by_field_name("value")
        if name is not None and value is not None:
            kwargs.append((document.content(name), document.content(value)))
    brackets = document.source[callee.end_byte : subscript.end_byte].decode("utf-8", "replace")
    grid = brackets.strip()[1:-1].strip()
    callees = tuple(NAME.findall(document.content(callee)))
    return [RawLaunch(subscript.start_point.row, callees, grid, tuple(args), tuple(kwargs))]
