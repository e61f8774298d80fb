"""A text whose casts to float32 go to float64, for the fp64 run: kernels of 16-bit data cast up inside, nearly all of them."""

import ast
import re

_WIDER = {"float32": "float64", "complex64": "complex128"}
# Run twice, these would build the same extension again, or put the second text's operators in the place of the first one's.
_ONCE = re.compile(r"\b(cpp_extension|load_inline|custom_op|triton_op|torch\.library|torch\.ops)\b")


def widened(text: str) -> str | None:
    """The text with float64 for float32, however written: `tl.float32`, `torch.float`, `x.float()`. Comments are lost.

    None where there is nothing to widen, or where the text must not be run twice. 16-bit types stay: what rounds to them
    means to. Raises SyntaxError.
    """
    if _ONCE.search(text):
        return None
    tree = ast.parse(text)
    widening = _Widening()
    widening.visit(tree)
    return ast.unparse(tree) if widening.found else None


class _Widening(ast.NodeTransformer):
    found = False

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        wider = _WIDER.get(node.attr)
        if node.attr == "float" and isinstance(node.value, ast.Name) and node.value.id == "torch":
            wider = "float64"
        return self._renamed(node, wider)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "float" and not node.args and not node.keywords:
            self._renamed(node.func, "double")
        return node

    def _renamed(self, node: ast.Attribute, name: str | None) -> ast.Attribute:
        if name is not None:
            node.attr, self.found = name, True
        return node
