"""A Triton kernel and the function that launches it as Python syntax trees, with places in the file's text."""

import ast
import functools
import itertools
import re
from collections.abc import Container
from dataclasses import dataclass

from kernelwright.source.calls import parameters
from kernelwright.source.imports import Aliases, aliases_in
from kernelwright.source.trees import walk
from kernelwright.source.triton.reader import Reading, canonical
from kernelwright.values import Kernel, Refusal, encoded, line_starts, page_around


@dataclass(frozen=True)
class Fragment:
    """A definition parsed on its own; line numbers of its nodes are the file's, from 1."""

    node: ast.FunctionDef | ast.ClassDef
    text: str  # the whole file
    aliases: Aliases

    @property
    def function(self) -> ast.FunctionDef:
        """The definition where it is a function's, as a kernel's always is."""
        assert isinstance(self.node, ast.FunctionDef)
        return self.node

    @functools.cached_property
    def reading(self) -> Reading:
        """What a kernel does; see source.triton.reader."""
        return Reading(self.function, self.aliases, text=self.text)

    @functools.cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Every node of the definition, as walk gives them."""
        return tuple(walk(self.node))

    def offset(self, line: int, column: int) -> int:
        """The code point of an ast position (line from 1, column in utf-8 bytes)."""
        start = line_offset(self.text, line - 1)
        content = self.text[start : line_offset(self.text, line)]
        return start + len(content.encode("utf-8", "surrogatepass")[:column].decode("utf-8", "surrogatepass"))

    def span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        end_line, end_column = node.end_lineno, node.end_col_offset
        assert end_line is not None
        assert end_column is not None
        return self.offset(node.lineno, node.col_offset), self.offset(end_line, end_column)

    def source(self, node: ast.expr | ast.stmt | ast.keyword) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def called(self, node: ast.AST) -> str:
        """The canonical name of what a call calls ("triton.language.load"), "" for anything else."""
        return canonical(node, self.aliases) if isinstance(node, ast.Call) else ""


def line_offset(text: str, line: int) -> int:
    """The offset at which `line` (from 0) starts; the end of the text for a line past it."""
    starts = line_starts(text)
    return starts[line] if line < len(starts) else len(text)


def kernel_fragment(text: str, kernel: Kernel) -> Fragment | Refusal:
    """The kernel's definition with its decorators."""
    return _fragment(text, kernel.start_line, kernel.end_line)


def launcher_fragment(text: str, kernel: Kernel) -> Fragment | Refusal:
    """The entry where the kernel is launched in it, else the function around its first launch."""
    if not kernel.launches:
        return Refusal("Nothing in this file launches the kernel.", line=kernel.name_line)
    if kernel.entry == kernel.name:
        return Refusal("The workload line launches the kernel itself, so what it is launched by is not measured.")
    lines = [launch.line for launch in kernel.launches]
    start, end = kernel.entry_start_line, kernel.entry_end_line
    if start is not None and end is not None and any(start <= line < end for line in lines):
        return _fragment(text, start, end)
    span = _enclosing_function(text, lines[0])
    if span is None:
        return Refusal("The kernel is launched outside of any function.", line=lines[0])
    if not all(span[0] <= line < span[1] for line in lines) and not is_defined_once(text, kernel.name):
        return Refusal(f"Several functions of the file are called {kernel.name}.", line=kernel.name_line)
    return _fragment(text, *span)


def is_defined_once(text: str, name: str) -> bool:
    """Whether no other function of the file has this name, so that every launch by it is of this one."""
    return len(re.findall(rf"^\s*def {re.escape(name)}\b", text, re.MULTILINE)) == 1


def enclosing_fragment(text: str, line: int) -> Fragment | Refusal:
    """The innermost function around a line."""
    span = _enclosing_function(text, line)
    if span is None:
        return Refusal("The kernel is launched outside of any function.", line=line)
    return _fragment(text, *span)


@functools.lru_cache(maxsize=64)
def _fragment(text: str, start_line: int, end_line: int) -> Fragment | Refusal:
    """Parse the lines on their own, which costs the length of the definition and not that of the file."""
    piece = text[line_offset(text, start_line) : line_offset(text, end_line)]
    node = _definition(piece, start_line)
    if isinstance(node, Refusal):
        return node
    return Fragment(node, text, aliases_in(encoded(page_around(text, start_line).text)))


@functools.lru_cache(maxsize=64)
def _definition(piece: str, start_line: int) -> ast.FunctionDef | ast.ClassDef | Refusal:
    """The definition whose first line is number `start_line` (from 0) of its file."""
    indented = piece[:1] in (" ", "\t")
    # Empty lines in front give every node its place in the file, for less than moving the nodes afterwards costs.
    try:
        module = ast.parse("if 1:" * indented + "\n" * start_line + piece)
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None) or start_line + 1
        return Refusal(f"Line {line} does not parse; mend it first.", line=line - 1)
    body = module.body[0].body if indented and isinstance(module.body[0], ast.If) else module.body
    found = next((node for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)), None)
    if found is None:
        return Refusal("The definition does not parse; mend it first.", line=start_line)
    return found


def _enclosing_function(text: str, line: int) -> tuple[int, int] | None:
    """The lines of the innermost `def` around `line`, by indentation."""
    lines = [text[start:end] for start, end in itertools.pairwise((*line_starts(text), len(text)))]
    limit = _indent(lines[line])
    for start in range(line - 1, -1, -1):
        content = lines[start]
        if not content.strip() or content.lstrip().startswith((")", "#")):
            continue
        if _indent(content) >= limit:
            continue
        limit = _indent(content)
        if re.match(r"\s*def\s", content):
            end = next((n for n in range(line + 1, len(lines)) if _ends(lines[n], limit)), len(lines))
            return start, end
    return None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _ends(line: str, indent: int) -> bool:
    return bool(line.strip()) and _indent(line) <= indent and not line.lstrip().startswith((")", "#"))


@functools.lru_cache(maxsize=4096)
def names_read(node: ast.AST) -> frozenset[str]:
    return frozenset(n.id for n in walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))


@functools.lru_cache(maxsize=4096)
def assigned_names(node: ast.AST) -> frozenset[str]:
    return frozenset(n.id for n in walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))


def names_in(function: ast.FunctionDef) -> set[str]:
    """Every name that the function uses or takes."""
    return {n.id for n in walk(function) if isinstance(n, ast.Name)} | {p.arg for p in parameters(function)}


def free_name(name: str, taken: Container[str]) -> str:
    """The name, with underscores behind it where it is taken."""
    return next(free for number in itertools.count() if (free := f"{name}{'_' * number}") not in taken)


def integer(node: ast.AST | None) -> int | None:
    """The value of an int literal; True and False are not ints here."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    return None
