"""Fast and less accurate operations in the place of exact ones on floats: intrinsics, `rsqrtf`, approximate division."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_independent import called
from kernelwright.micro.rewrite.cuda_kinds import FLOAT, Kinds
from kernelwright.micro.rewrite.cuda_patch import Patch
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda import File, Function
from kernelwright.source.cuda.text import field, of_type, walk

FUNCTION, ANGLE, DIVISION, ROOT = "function", "angle", "division", "root"
_INTRINSICS = ("expf", "exp10f", "logf", "log2f", "log10f")
_ANGLES = ("sinf", "cosf", "tanf", "sincosf")
_ROOTS = ("sqrtf", "sqrt")
_BUSY = ("call_expression", "update_expression", "assignment_expression")


@dataclass(frozen=True, eq=False)
class Slow:
    """An operation that has a fast form; `node` is the call, the division or the assignment `x /= y`."""

    kind: str
    node: Node


def slow(sight: CudaSight) -> tuple[Slow, ...]:
    """The operations of the kernel, and of the device functions that it alone calls, in order of the text."""
    others = {
        one.name for kernel in sight.file.kernels if kernel is not sight.kernel for one in called(sight.file, kernel)
    }
    own = [
        one for one in called(sight.file, sight.kernel) if one.name not in others and not one.is_host and one.is_device
    ]
    functions = sorted((sight.kernel, *own), key=lambda one: one.node.start_byte)
    return tuple(one for function in functions for one in _slow(sight.file, function))


def fast(sight: CudaSight, chosen: tuple[Slow, ...]) -> Patch:
    """The text with these operations in their fast forms."""
    patch = sight.patch()
    for one in chosen:
        if one.kind in (FUNCTION, ANGLE):
            callee = _some(field(one.node, "function"))
            patch.replace(callee, f"__{_single(sight.content(callee))}")
        elif one.node.type == "assignment_expression":
            _assigned(sight, one.node, patch)
        elif one.kind == ROOT:
            _root(sight, one.node, patch)
        else:
            _divided(one.node, patch)
    return patch


def _slow(file: File, function: Function) -> Iterator[Slow]:
    kinds, content = Kinds(file, function), file.source.content
    for node in walk(function.body):
        if node.type == "call_expression":
            callee, listed = field(node, "function"), field(node, "arguments")
            name = content(callee) if callee is not None else ""
            given = [one for one in listed.named_children if one.type != "comment"] if listed is not None else []
            single = _single(name)
            if not single or not given or file.function(name) is not None:
                continue
            if name.endswith("f") or kinds.of(given[0]) == FLOAT:
                yield Slow(ANGLE if single in _ANGLES else FUNCTION, node)
        elif node.type in ("binary_expression", "assignment_expression"):
            operator, left, right = field(node, "operator"), field(node, "left"), field(node, "right")
            if operator is None or left is None or right is None or content(operator) not in ("/", "/="):
                continue
            pair = (kinds.of(left), kinds.of(right))
            if FLOAT not in pair or not set(pair) <= {FLOAT, "int"} or _is_exact(content(right)) or _is_constant(node):
                continue
            if content(operator) == "/=" and (pair[0] != FLOAT or any(one.type in _BUSY for one in walk(left))):
                continue
            yield Slow(ROOT if _is_root(file, right) else DIVISION, node)


def _single(name: str) -> str:
    """The single precision of a function that has an intrinsic: `expf` for `expf`, `exp` and `std::exp`; "" for others."""
    plain = name.removeprefix("std::")
    return next((one for one in (plain, f"{plain}f") if one in (*_INTRINSICS, *_ANGLES)), "")


def _is_exact(divisor: str) -> bool:
    """Whether a divisor is a power of two, by which the compiler multiplies."""
    try:
        value = float(divisor.rstrip("fFuUlL"))
    except ValueError:
        return False
    return value != 0 and abs(math.frexp(value)[0]) == 0.5


def _is_constant(node: Node) -> bool:
    """Whether a division is computed by the compiler."""
    names = any(
        one.type not in ("number_literal", "binary_expression", "parenthesized_expression") for one in walk(node)
    )
    parent: Node | None = node
    while parent is not None and parent.type != "declaration":
        parent = parent.parent
    said = parent is not None and b"constexpr" in (parent.text or b"").split(b"=")[0]
    return said or not names


def _is_root(file: File, node: Node) -> bool:
    callee = field(node, "function") if node.type == "call_expression" else None
    return callee is not None and file.source.content(callee).removeprefix("std::") in _ROOTS


def _root(sight: CudaSight, node: Node, patch: Patch) -> None:
    """`x / sqrtf(y)` becomes `x * rsqrtf(y)`, and `1.0f / sqrtf(y)` the root alone."""
    left, operator, right = (_some(field(node, one)) for one in ("left", "operator", "right"))
    callee = _some(field(right, "function"))
    if sight.content(left).rstrip("fF") in ("1", "1.", "1.0"):
        patch.between(left.start_byte, callee.end_byte, "rsqrtf")
        return
    patch.replace(operator, "*").replace(callee, "rsqrtf")


def _divided(node: Node, patch: Patch) -> None:
    """`a / b` becomes `__fdividef(a, b)`, without parentheses that are not needed any more."""
    left, right = _some(field(node, "left")), _some(field(node, "right"))
    start, end = left.start_byte, right.end_byte
    bare_left, bare_right = (one.type == "parenthesized_expression" for one in (left, right))
    patch.between(start, start + bare_left, "__fdividef(")
    patch.between(left.end_byte - bare_left, right.start_byte + bare_right, ", ")
    patch.between(end - bare_right, end, ")")


def _assigned(sight: CudaSight, node: Node, patch: Patch) -> None:
    """`x /= y` becomes `x = __fdividef(x, y)`."""
    left, operator, right = (_some(field(node, one)) for one in ("left", "operator", "right"))
    written = sight.content(left)
    if _is_root(sight.file, right):
        patch.replace(operator, "*=").replace(_some(field(right, "function")), "rsqrtf")
        return
    patch.replace(operator, "=").before(right, f"__fdividef({written}, ").after(right, ")")


def in_loop(sight: CudaSight, chosen: tuple[Slow, ...]) -> bool:
    loops = list(of_type(sight.kernel.body, "for_statement", "while_statement"))
    return any(loop.start_byte < one.node.start_byte < loop.end_byte for one in chosen for loop in loops)


def _some(node: Node | None) -> Node:
    assert node is not None
    return node
