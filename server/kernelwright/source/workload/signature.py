"""The parameters of a function or module class, read from its source without running it."""

import ast
import bisect
import functools
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

from kernelwright.source.workload.find import code, definitions

_INDENTED = re.compile(r"^(?:if|try)\b", re.M)
_FUNCTION = re.compile(r"(?:^|\bautograd\.)Function$")
_JIT = re.compile(r"^@(?:\w+\.)*(?:jit|autotune|heuristics)\b", re.M)


@dataclass(frozen=True)
class Parameters:
    """Parameters without self. `tree` is the function they belong to."""

    tree: ast.FunctionDef | ast.AsyncFunctionDef
    is_method: bool = False

    @property
    def positional(self) -> tuple[ast.arg, ...]:
        found = (*self.tree.args.posonlyargs, *self.tree.args.args)
        return found[1:] if self.is_method else found

    def all(self) -> tuple[tuple[ast.arg, ast.expr | None], ...]:
        """Every named parameter with its default."""
        given = self.tree.args
        defaults = [None] * (len(self.positional) - len(given.defaults)) + list(given.defaults)
        defaults = defaults[len(defaults) - len(self.positional) :] if self.positional else []
        return (*zip(self.positional, defaults, strict=True), *zip(given.kwonlyargs, given.kw_defaults, strict=True))

    def required(self) -> tuple[str, ...]:
        return tuple(parameter.arg for parameter, default in self.all() if default is None)

    def mismatch(self, name: str, positional: int, keywords: tuple[str, ...]) -> str | None:
        """Why `name` cannot be called with so many positional arguments and these keywords; None when it can."""
        names = [parameter.arg for parameter in self.positional]
        if positional > len(names) and self.tree.args.vararg is None:
            return f"{name} takes {_count(len(names), 'positional argument')}, this line gives {positional}."
        taken = set(names[:positional])
        known = {parameter.arg for parameter, _ in self.all()}
        for keyword in keywords:
            if keyword in taken:
                return f"{name} is given {keyword} twice."
            if keyword not in known and self.tree.args.kwarg is None:
                return f"{name} has no parameter {keyword}."
        missing = [parameter for parameter in self.required() if parameter not in taken | set(keywords)]
        return f"{name} also needs {', '.join(missing)}." if missing else None


@dataclass(frozen=True)
class Signature:
    """How an entry is called. For a class `init` is its constructor's and `call` its forward's, be they inherited from other
    classes of the file; None where they come from elsewhere.

    An autograd.Function is a class that is `applied`, never constructed. `bases`: a class's base classes as they are written.
    """

    name: str
    is_class: bool
    is_triton: bool
    init: Parameters | None
    call: Parameters | None
    applied: bool = False
    bases: tuple[str, ...] = ()

    @property
    def inherits_constructor(self) -> bool:
        """Whether it is constructed by what another file or package defines."""
        return self.is_class and not self.applied and self.init is None and bool(self.bases)


def signature_of(text: str, name: str, *, decorated: bool = False) -> Signature | None:
    """The signature of a top-level function or class; None for anything else, or when its source does not parse.

    Nor is there one for a function with decorators that may change it, unless it is asked for as `decorated`.
    """
    found = _own_signature(text, name, decorated)
    return found if found is None or not found.bases else _with_inherited(text, found, frozenset((name,)))


def _own_signature(text: str, name: str, decorated: bool) -> Signature | None:
    """As `signature_of`, without what base classes define."""
    if name not in definitions(text):
        tree = conditional_definitions(text).get(name)
        return None if tree is None else _signature(name, ast.unparse(tree), _decorators_of(tree), decorated)
    start, end = definitions(text)[name]
    source = _source(text[start:end], code(text)[start:end])
    return _signature(name, source, _decorators(_before(text, start)), decorated)


def _with_inherited(text: str, found: Signature, seen: frozenset[str]) -> Signature:
    """With what its base classes in the file define, in their order, up to the first one that is not there."""
    for base in found.bases:
        above = None if base in seen else _own_signature(text, base, True)
        if above is None or not above.is_class:
            break
        above = _with_inherited(text, above, seen | {base})
        applied = found.applied or above.applied
        init = None if applied else found.init or above.init
        found = replace(found, init=init, call=found.call or above.call, applied=applied)
    return found


def definition(text: str, name: str) -> ast.stmt | None:
    """A function or class of the file, without its decorators; None where there is none, or it does not parse."""
    span = definitions(text).get(name)
    if span is None:
        return conditional_definitions(text).get(name)
    start, end = span
    return _parse(_source(text[start:end], code(text)[start:end]))


def device_function(text: str, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The Triton function of this name in the file."""
    found = signature_of(text, name, decorated=True)
    return found.call.tree if found is not None and found.is_triton and found.call is not None else None


def decorators_of(text: str, name: str) -> str:
    """The decorators of a function as they are written."""
    if name not in definitions(text):
        return _decorators_of(conditional_definitions(text)[name])
    return _decorators(_before(text, definitions(text)[name][0]))


@functools.lru_cache(maxsize=2048)
def _signature(name: str, source: str, decorators: str, decorated: bool) -> Signature | None:
    tree = _parse(source)
    if isinstance(tree, ast.ClassDef):
        methods = {item.name: item for item in tree.body if isinstance(item, ast.FunctionDef)}
        init, call = methods.get("__init__"), methods.get("forward") or methods.get("__call__")
        bases = tuple(ast.unparse(base) for base in tree.bases)
        if any(map(_FUNCTION.search, bases)):
            # Where setup_context() gets the context, forward() does not.
            forward = Parameters(call, "setup_context" not in methods) if call is not None else None
            return Signature(name, True, False, None, forward, True, bases)
        return Signature(
            name,
            True,
            False,
            Parameters(init, True) if init is not None else None,
            Parameters(call, True) if call is not None else None,
            bases=bases,
        )
    if isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef):
        if decorators and not decorated and not _JIT.search(decorators) and "no_grad" not in decorators:
            return None  # a decorator may change the parameters
        return Signature(name, False, bool(_JIT.search(decorators)), None, Parameters(tree))
    return None


@functools.lru_cache(maxsize=8)
def conditional_definitions(text: str) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    """Functions and classes that a file defines under a condition, as where a package is there."""
    tree = _module(text) if _INDENTED.search(text) else None
    open_, found = [node for node in (tree.body if tree else ()) if isinstance(node, ast.If | ast.Try)], {}
    for node in open_:
        for inner in (*node.body, *node.orelse):
            if isinstance(inner, ast.FunctionDef | ast.ClassDef):
                found[inner.name] = inner
            elif isinstance(inner, ast.If | ast.Try):
                open_.append(inner)
    return found


def _decorators_of(tree: ast.FunctionDef | ast.ClassDef) -> str:
    return "\n".join(f"@{ast.unparse(decorator)}" for decorator in tree.decorator_list)


def _module(text: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@functools.lru_cache(maxsize=2048)
def _source(source: str, blanked: str) -> str:
    """The definition alone: what follows it at column 0 belongs to the file. `blanked` is its code without strings."""
    first = blanked.find("\n")
    end = (
        next((m.start() for m in re.finditer(r"^(?=[^\s)\]}])", blanked[first + 1 :], re.M)), None)
        if first >= 0
        else None
    )
    return source if end is None else source[: first + 1 + end]


def _parse(source: str) -> ast.stmt | None:
    tree = _module(source)
    return tree.body[0] if tree is not None and tree.body else None


@functools.lru_cache(maxsize=4)
def _starts(text: str) -> list[int]:
    return sorted(start for start, _ in definitions(text).values())


def _before(text: str, start: int) -> str:
    """The code from the definition before the one at `start` up to it."""
    starts = _starts(text)
    place = bisect.bisect_left(starts, start)
    return code(text)[starts[place - 1] if place else 0 : start]


@functools.lru_cache(maxsize=2048)
def _decorators(before: str) -> str:
    """The end of `before` behind its last statement when it holds decorators, else ""."""
    lines: list[str] = []
    for line in _lines_before(before, len(before)):
        if line.strip() and not line.startswith(("@", " ", "\t", ")", "]", "}")):
            break
        lines.insert(0, line)
    joined = "\n".join(lines)
    first = re.search(r"^@", joined, re.M)
    return joined[first.start() :] if first else ""


def _lines_before(text: str, end: int) -> Iterator[str]:
    """The lines that end before the offset `end`, which begins one, last one first."""
    while end > 0:
        start = text.rfind("\n", 0, end - 1) + 1
        yield text[start : end - 1]
        end = start


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
