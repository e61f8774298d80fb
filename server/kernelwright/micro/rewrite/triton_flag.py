"""Gives a Triton kernel compile-time flags that say whether a size comes out even in blocks, wherever these are chosen."""

import ast
import re
from dataclasses import dataclass

from kernelwright.micro.rewrite.triton_constants import appended, with_keywords
from kernelwright.micro.rewrite.triton_launch import Site
from kernelwright.micro.rewrite.triton_source import Fragment, line_offset
from kernelwright.source.calls import argument, constexprs, defaults, parameters
from kernelwright.source.triton.even import Split
from kernelwright.source.triton.reader import decorators
from kernelwright.values import Refusal, TextEdit

_ASKED = ("size", "stride", "numel", "dim")
_WRAPPERS = ("triton.jit", "triton.autotune", "triton.heuristics")


@dataclass(frozen=True)
class Flag:
    name: str
    split: Split


def with_flags(site: Site, flags: tuple[Flag, ...]) -> list[TextEdit] | Refusal:
    """The edits that define the flags: in the kernel where it knows both numbers, else by its launches or by heuristics."""
    kernel = site.kernel
    known = constexprs(kernel.function)
    inside = tuple(one for one in flags if one.split.size in known)
    passed = tuple(one for one in flags if one not in inside)
    edits = [_local(kernel, inside)] if inside else []
    if not passed:
        return edits
    arguments = kernel.function.args
    if arguments.vararg is not None or arguments.kwarg is not None:
        return Refusal("The kernel takes parameters by a star, so none can be added.", line=kernel.function.lineno - 1)
    # False unless a launch says otherwise: other files may launch the kernel, too.
    edits.append(parameters_added(kernel, [f"{one.name}: {constexpr_kind(kernel)} = False" for one in passed]))
    launches = [_launch(one, passed) for one in (site, *site.twins)]
    plain = [edit for edit in launches if edit is not None]
    if len(plain) == len(launches):
        return [*edits, *plain]
    heuristics = _heuristics(site, passed)
    return heuristics if isinstance(heuristics, Refusal) else [*edits, heuristics]


def _local(kernel: Fragment, flags: tuple[Flag, ...]) -> TextEdit:
    body = kernel.function.body
    first = body[1] if ast.get_docstring(kernel.function, clean=False) is not None and len(body) > 1 else body[0]
    at = line_offset(kernel.text, first.lineno - 1)
    pad = " " * first.col_offset
    lines = (f"{one.name}: {constexpr_kind(kernel)} = {one.split.size} % {one.split.block} == 0" for one in flags)
    return TextEdit(at, at, "".join(f"{pad}{line}\n" for line in lines))


def parameters_added(kernel: Fragment, added: list[str]) -> TextEdit:
    """More parameters after the last one."""
    last = parameters(kernel.function)[-1]
    default = next((value for name, value in defaults(kernel.function) if name == last.arg), None)
    assert last.end_lineno is not None
    assert last.end_col_offset is not None
    start = kernel.offset(last.lineno, last.col_offset)
    end = kernel.span(default)[1] if default is not None else kernel.offset(last.end_lineno, last.end_col_offset)
    return appended(kernel.text, (start, end), added)


def constexpr_kind(kernel: Fragment) -> str:
    """How the kernel annotates what is known when it is compiled."""
    known = constexprs(kernel.function)
    found = next((p.annotation for p in parameters(kernel.function) if p.arg in known and p.annotation), None)
    if found is not None:
        return kernel.source(found)
    return f"{kernel.aliases.spelled('triton.language') or 'tl'}.constexpr"


def _launch(site: Site, flags: tuple[Flag, ...]) -> TextEdit | None:
    """The flags as arguments, where the launch reads the block size from a name that a later change of it goes by, too."""
    words: list[str] = []
    for flag in flags:
        size, block = site.bound.get(flag.split.size), site.bound.get(flag.split.block)
        if size is None or not isinstance(block, ast.Name) or not is_plain(size):
            return None
        text = " ".join(site.launcher.source(size).split())
        text = f"({text})" if isinstance(size, ast.BinOp) else text
        words.append(f"{flag.name}={text} % {block.id} == 0")
    return with_keywords(site, words)


def is_plain(node: ast.expr) -> bool:
    """Whether it can be written a second time: names, attributes, elements and arithmetic, and what is asked of a tensor."""
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.Attribute(value=value):
            return is_plain(value)
        case ast.Subscript(value=value, slice=index):
            return is_plain(value) and is_plain(index)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return is_plain(operand)
        case ast.BinOp(left=left, right=right):
            return is_plain(left) and is_plain(right)
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=args, keywords=[]) if name in _ASKED:
            return is_plain(value) and all(map(is_plain, args))
    return False


def _heuristics(site: Site, flags: tuple[Flag, ...]) -> TextEdit | Refusal:
    """An entry of the kernel's heuristics, or a decorator of its own right above that of the compiler."""
    kernel = site.kernel
    line = kernel.function.lineno - 1
    tuner = kernel.reading.autotuner  # a library's own takes what heuristics make, as Triton's does
    found = [
        ("triton.autotune" if node is tuner else name, node)
        for name, node in decorators(kernel.function, kernel.aliases)
    ]
    jit = next((node for name, node in found if name == "triton.jit"), None)
    triton = kernel.aliases.spelled("triton")
    first = next((index for index, (name, _) in enumerate(found) if name in _WRAPPERS), 0)
    others = any(name not in _WRAPPERS for name, _ in found[first:]) or (first > 0 and found[first][1] is jit)
    if jit is None or triton is None or others:
        return Refusal(
            "The kernel has other decorators than those of triton, or it is not imported as a module.", line=line
        )
    for name, _ in defaults(kernel.function):
        if name in {part for flag in flags for part in (flag.split.size, flag.split.block)}:
            return Refusal(f"{name} has a default, which heuristics are not told: pass it at the launch.", line=line)
    if re.search(rf"(?<!def )(?<![\w.]){re.escape(kernel.function.name)}\(", kernel.text):
        return Refusal("Another function calls the kernel, which it could not do with heuristics.", line=line)
    entries = [f'"{one.name}": lambda args: args["{one.split.size}"] % args["{one.split.block}"] == 0' for one in flags]
    for name, node in found:
        values = argument(node, 0, "values") if name == "triton.heuristics" and isinstance(node, ast.Call) else None
        if isinstance(values, ast.Dict) and values.values and values.keys[-1] is not None:
            last = (kernel.span(values.keys[-1])[0], kernel.span(values.values[-1])[1])
            return appended(kernel.text, last, entries)
    at = line_offset(kernel.text, jit.lineno - 1)
    pad = " " * kernel.function.col_offset
    one_line = f"{pad}@{triton}.heuristics({{{entries[0]}}})\n"
    lines = "".join(f"{pad}        {entry},\n" for entry in entries)
    several = f"{pad}@{triton}.heuristics(\n{pad}    {{\n{lines}{pad}    }}\n{pad})\n"
    return TextEdit(at, at, one_line if len(entries) == 1 else several)
