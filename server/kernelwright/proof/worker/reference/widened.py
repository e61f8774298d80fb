"""A text whose casts to float32 go to float64, for the fp64 run: kernels of 16-bit data cast up inside, nearly all of them."""

import ast
import re
from collections.abc import Mapping

_WIDER = {"float32": "float64", "complex64": "complex128"}
_NARROW = dict.fromkeys(("float16", "half", "bfloat16"), "float64")
# Run twice, these would build the same extension again, or put the second text's operators in the place of the first one's.
_ONCE = re.compile(r"\b(cpp_extension|load_inline|custom_op|triton_op|torch\.library|torch\.ops)\b")
_LOOPS = (ast.For, ast.While)


def widened(text: str, *, narrow: bool = False) -> str | None:
    """The text with float64 for float32, however written: `tl.float32`, `torch.float`, `x.float()`. Comments are lost.

    A number that a loop of a Triton kernel adds to begins as float64 too, since Triton lets no loop change its type. None where
    there is nothing to widen, or where the text must not be run twice. 16-bit types stay, since what rounds to them means to,
    and so does what the text asks finfo() of float32, which is a number of its own. With `narrow` they go to float64 too, and
    None is where there are none. Raises SyntaxError.
    """
    if _ONCE.search(text):
        return None
    tree = ast.parse(text)
    widening = _Widening(_language(tree), _WIDER | _NARROW if narrow else _WIDER)
    widening.visit(tree)
    found = widening.narrow if narrow else widening.found
    return ast.unparse(ast.fix_missing_locations(tree)) if found else None


class _Widening(ast.NodeTransformer):
    """`found`: whether anything was, `narrow`: of 16 bits. `language`: the text's name of triton.language."""

    def __init__(self, language: str | None, wider: Mapping[str, str]) -> None:
        self.found = self.narrow = False
        self._language = language
        self._wider = wider
        self._carried: frozenset[str] = frozenset()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        outer = self._carried
        if self._language and any(_is_jit(decorator) for decorator in node.decorator_list):
            self._carried = _given_in_loops(node)
        self.generic_visit(node)
        self._carried = outer
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        target = node.targets[0]
        if isinstance(target, ast.Name) and target.id in self._carried and _is_float(node.value):
            made = f"{self._language}.cast({ast.unparse(node.value)}, {self._language}.float64)"
            node.value = ast.parse(made, mode="eval").body
            self.found = True
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        wider = self._wider.get(node.attr) if node.attr != "half" or _is_torch(node.value) else None
        if node.attr == "float" and _is_torch(node.value):
            wider = "float64"
        return self._renamed(node, wider)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "finfo":
            return node
        casts = {"float"} | (self._wider.keys() & _NARROW.keys())
        if isinstance(node.func, ast.Attribute) and node.func.attr in casts and not node.args and not node.keywords:
            node.func.value = self.visit(node.func.value)
            self._renamed(node.func, "double")
            return node
        self.generic_visit(node)
        return node

    def _renamed(self, node: ast.Attribute, name: str | None) -> ast.Attribute:
        if name is not None:
            self.narrow = self.narrow or node.attr in _NARROW
            node.attr, self.found = name, True
        return node


def _is_torch(value: ast.expr) -> bool:
    return isinstance(value, ast.Name) and value.id == "torch"


def _language(tree: ast.Module) -> str | None:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            inside = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for each in node.names:
                if inside + each.name == "triton.language":
                    return each.asname or each.name
    return None


def _is_jit(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")) == "jit"


def _given_in_loops(function: ast.FunctionDef) -> frozenset[str]:
    """The names that loops of the function give values to."""
    inside = [node for loop in ast.walk(function) if isinstance(loop, _LOOPS) for node in ast.walk(loop)]
    given = [target for node in inside if isinstance(node, ast.Assign) for target in node.targets]
    given += [node.target for node in inside if isinstance(node, ast.AugAssign)]
    return frozenset(target.id for target in given if isinstance(target, ast.Name))


def _is_float(value: ast.expr) -> bool:
    """A float as it is written: 0.0, -1.0, float("inf"), -float("inf")."""
    if isinstance(value, ast.UnaryOp):
        return _is_float(value.operand)
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Name) and value.func.id == "float"
    return isinstance(value, ast.Constant) and isinstance(value.value, float)
