"""Which buffers a launch passes: the names of the launching function that the address of an argument is made of."""

from collections.abc import Iterator

from tree_sitter import Node

from kernelwright.source.cuda import File, Function
from kernelwright.source.cuda.expressions import Names
from kernelwright.source.cuda.text import field, of_type

_PLAIN = frozenset(
    ("int", "unsigned", "unsigned int", "long", "long long", "size_t", "int64_t", "int32_t", "uint32_t", "float", "double",
     "uint64_t", "bool", "char", "dim3", "cudaStream_t", "auto")
)  # fmt: skip


def roots(file: File, function: Function, argument: Node) -> frozenset[str]:
    """The names that an argument's address may come from, apart from numbers."""
    numbers = {one.name for one in function.parameters if not one.is_pointer and one.base in _PLAIN}
    numbers |= {
        file.source.content(one) for node in of_type(function.body, "declaration") for one in _numbers(file, node)
    }
    names = Names(file, function)
    found, waiting = set[str](), [argument]
    pointers = dict(_pointer_values(file, function))
    while waiting:
        for name in names.behind(waiting.pop()) - numbers - found:
            found.add(name)
            waiting += pointers.get(name, [])
    return frozenset(found - file.constants.keys())


def _pointer_values(file: File, function: Function) -> Iterator[tuple[str, list[Node]]]:
    for node in of_type(function.body, "init_declarator"):
        target, value = field(node, "declarator"), field(node, "value")
        if target is not None and target.type == "pointer_declarator" and value is not None:
            yield file.source.content(target).lstrip("* "), [value]


def _numbers(file: File, declaration: Node) -> Iterator[Node]:
    kind = field(declaration, "type")
    if kind is None or file.source.content(kind) not in _PLAIN:
        return
    for one in declaration.named_children:
        inner = field(one, "declarator") if one.type == "init_declarator" else one
        if inner is not None and inner.type == "identifier":
            yield inner
