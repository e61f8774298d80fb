"""Calls beside a replaced region that are written anew, such as that of a convolution which loses its bias."""

import ast
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.place.layout import call_text, newline_of
from kernelwright.place.source_env import NotEditable, simple_targets
from kernelwright.place.source_map import SourceMap
from kernelwright.values import TextEdit


@dataclass(frozen=True)
class NewCall:
    """`head(arguments)` in the place of `tree`, which makes the Value `value` that only the region reads."""

    value: int
    tree: ast.Call
    head: str
    arguments: tuple[str, ...]

    def text(self, source: SourceMap, indent: int, prefix: int) -> str:
        """The call in a line that is indented by `indent` columns, behind `prefix` more."""
        text = call_text(self.head, self.arguments, "", indent, prefix)
        return text.replace("\r\n", "\n").replace("\n", newline_of(source.text))

    def assigned(self, source: SourceMap, indent: str, name: str) -> str:
        """The lines that bind the call's result to `name`."""
        return f"{indent}{name} = {self.text(source, len(indent), len(name) + 3)}{newline_of(source.text)}"

    def in_place(self, source: SourceMap, block: Sequence[ast.stmt]) -> tuple[TextEdit, ast.stmt, set[str]]:
        """The edit of the call where it stands, its statement, and the names that then hold something else.

        Raises NotEditable unless the statement, one of `block`, does nothing but name the result.
        """
        statement = source.statement(self.tree)
        targets = simple_targets(statement)
        if statement not in block or not targets or getattr(statement, "value", None) is not self.tree:
            raise NotEditable("A convolution's result is not simply named beside the region.", self.tree.lineno - 1)
        start, end = source.offsets(self.tree)
        before = source.text[source.starts[bisect_right(source.starts, start) - 1] : start]
        indent = len(before) - len(before.lstrip())
        return TextEdit(start, end, self.text(source, indent, len(before) - indent)), statement, set(targets)

    def hoisted(self, source: SourceMap, statement: ast.stmt, name: str) -> TextEdit:
        """The edit that binds the call's result to `name` in front of the statement in which it stands.

        Raises NotEditable where the statement is compound or does not begin its line.
        """
        start = source.starts[statement.lineno - 1]
        indent = source.text[start : source.offsets(statement)[0]]
        simple = isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.Return | ast.Expr)
        if indent.strip() or not simple:
            raise NotEditable("A convolution stands in the middle of its line.", statement.lineno - 1)
        return TextEdit(start, start, self.assigned(source, indent, name))
