"""What Triton's compiler refuses and its interpreter swallows: a variable that a loop carries on in more precision than it
began with. There the accumulator in half precision, which is an error or a loss on a GPU, would change nothing."""

import ast
from collections.abc import Mapping
from typing import Any

import triton.language as tl
from triton.runtime import interpreter

_KEPT, _SAME = "_types_before_", "_types_stay"
_LOOPS = ("range", "tl.range", "language.range", "triton.language.range")  # static_range is unrolled


class CompilationError(Exception):
    """What the compiler would say; named as Triton's own."""


def install() -> None:
    """Let every rewritten kernel compare the types."""
    narrow = (tl.float16, tl.bfloat16)

    def types(scope: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
        found = {name: scope[name].dtype for name in names if isinstance(scope.get(name), tl.tensor)}
        return {name: kind for name, kind in found.items() if kind in narrow}

    def stay(before: Mapping[str, Any], scope: Mapping[str, Any], line: int) -> None:
        for name, kind in before.items():
            now = scope.get(name)
            # In float64 the fp64 run of a kernel goes on that allocates in float32 itself.
            if isinstance(now, tl.tensor) and now.dtype == tl.float32:
                raise CompilationError(
                    f"{name} is {kind} before the loop at line {line} of the kernel and {now.dtype} after a step of it, "
                    "which Triton's compiler refuses"
                )

    class Transformer(type(interpreter.FunctionRewriter.ast_transformer)):  # type: ignore[misc]
        def visit_For(self, node: ast.For) -> ast.For:
            line = node.lineno
            self.generic_visit(node)
            inside = (inner for statement in node.body for inner in ast.walk(statement) if isinstance(inner, ast.Name))
            stored = (name.id for name in inside if isinstance(name.ctx, ast.Store))
            names = tuple(dict.fromkeys(name for name in stored if not name.startswith(_KEPT)))
            if not names or not isinstance(node.iter, ast.Call) or ast.unparse(node.iter.func) not in _LOOPS:
                return node
            kept = f"{_KEPT}{line}"
            before = ast.parse(f"{kept} = {_KEPT}(locals(), {names!r})").body
            after = ast.parse(f"{_SAME}({kept}, locals(), {line})").body
            node.body = [*before, *node.body, *after]
            return node

    # The interpreter hands its own globals to the kernels that it rewrites.
    setattr(interpreter, _KEPT, types)
    setattr(interpreter, _SAME, stay)
    interpreter.FunctionRewriter.ast_transformer = Transformer()
