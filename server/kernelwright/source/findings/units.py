"""From segments to units: which functions are Triton kernels, who launches them, which PyTorch code is hot."""

import ast
import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kernelwright.source.calls import bound, parameters
from kernelwright.source.findings.scope import Scope, scope_of
from kernelwright.source.findings.sizes import Size
from kernelwright.source.findings.torch import TorchUnit, method
from kernelwright.source.findings.triton import OPTIONS, LaunchSite, TritonUnit
from kernelwright.source.imports import Aliases
from kernelwright.source.memory import PerPiece
from kernelwright.source.parsed import syntax
from kernelwright.source.trees import inside, walk
from kernelwright.source.triton.reader import decorators, is_launch, launched_name

_SUPPORT = re.compile(
    r"(?:^|_)(?:tests?|tested|bench|benchmark|check|train|main|profile|verify|validate|ref|reference|demo|compare|cpu)(?:_|$)"
)
REFERENCE = re.compile(r"(?:^|_)(?:torch|pytorch|naive|golden)(?:_|$)")
"""In a file of Triton kernels: the function that they are compared with."""

_Holder = ast.Module | ast.ClassDef | ast.FunctionDef
_Placed = tuple[ast.Call, _Holder, ast.FunctionDef | None]
_CONSTANT = re.compile(r"([A-Za-z_]\w*)\s*(?::[^=\n]+)?=\s*([0-9_]{1,20}|1\s*<<\s*[0-9]{1,3})\s*(?:#.*)?$", re.M)


@dataclass(frozen=True)
class Summary:
    """What a segment holds: its Triton kernels (name, line in it), the names that it launches, its PyTorch definitions.

    `functions` are the names of all that it defines with `def`, `constants` the integer that it assigns at top level,
    `called` the plain names that it calls.
    """

    kernels: tuple[tuple[str, int], ...] = ()
    launched: frozenset[str] = frozenset()
    torch: tuple[tuple[str, int], ...] = ()
    functions: frozenset[str] = frozenset()
    constants: tuple[tuple[str, int], ...] = ()
    called: frozenset[str] = frozenset()


def _summary(source: bytes, aliases: Aliases) -> Summary:
    text = source.decode("utf-8", "surrogatepass")
    if match := _CONSTANT.match(text):
        return Summary(constants=((match[1], _integer(match[2])),))
    tree = syntax(text)
    if tree is None:
        return Summary()
    kernels: list[tuple[str, int]] = []
    torch: list[tuple[str, int]] = []
    launched: set[str] = set()
    functions: set[str] = set()
    called: set[str] = set()
    for node in walk(tree):
        if isinstance(node, ast.FunctionDef):
            functions.add(node.name)
            if is_jit(node, aliases):
                kernels.append((node.name, node.lineno))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
            launched.add(launched_name(node.func))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            called.add(node.func.id)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not (
            isinstance(node, ast.FunctionDef) and is_jit(node, aliases)
        ):
            torch.append((node.name, node.lineno))
    own = frozenset(called) if kernels else frozenset()
    return Summary(tuple(kernels), frozenset(launched - {""}), tuple(torch), frozenset(functions), called=own)


summaries_of = PerPiece(_summary)


def _integer(text: str) -> int:
    base, _, shift = text.replace("_", "").partition("<<")
    return int(base or "0") << min(int(shift or "0"), 64)


def is_jit(function: ast.FunctionDef, aliases: Aliases) -> bool:
    return any(name == "triton.jit" for name, _ in decorators(function, aliases))


def triton_unit(
    texts: tuple[str, ...],
    name: str,
    line: int,
    aliases: Aliases,
    constants: Mapping[str, int],
    sizes: Mapping[str, tuple[tuple[int | str, Size], ...]],
    helpers: tuple[str, ...] = (),
) -> TritonUnit | None:
    """Read the kernel `name` in the first text, with its launches in all texts, and the `helpers` that it calls."""
    trees = [syntax(text) for text in texts]
    if trees[0] is None:
        return None
    function = next(
        (n for n in ast.walk(trees[0]) if isinstance(n, ast.FunctionDef) and (n.name, n.lineno) == (name, line)), None
    )
    if function is None:
        return None
    known = tuple(constants.items())
    launches = tuple(
        _launch(call, _scope(holder, owner, aliases, known), index, function)
        for index, tree in enumerate(trees)
        if tree is not None
        for call, holder, owner in _launches(tree, aliases)
        if is_launch(call, name)
    )
    calls = [(name, node) for name, node in decorators(function, aliases) if isinstance(node, ast.Call)]
    autotune = next((node for name, node in calls if name == "triton.autotune"), None)
    heuristics = tuple(node for name, node in calls if name == "triton.heuristics")
    scope = scope_of(function, function.body, aliases, constants)
    device = {
        node.name: node
        for tree in map(syntax, helpers)
        for node in (walk(tree) if tree is not None else ())
        if isinstance(node, ast.FunctionDef) and is_jit(node, aliases)
    }
    is_nested = any(isinstance(n, ast.FunctionDef) and function in walk(n) for n in trees[0].body if n is not function)
    return TritonUnit(function, aliases, scope, launches, autotune, heuristics, sizes, device, is_nested)


@functools.lru_cache(maxsize=64)
def _launches(tree: ast.Module, aliases: Aliases) -> tuple[_Placed, ...]:
    """Find all calls `name[grid](…)` outside kernels, each with what holds it and the function that it stands in."""
    return tuple(_launches_in(tree, None, aliases))


def _launches_in(holder: _Holder, owner: ast.FunctionDef | None, aliases: Aliases) -> Iterator[_Placed]:
    for node in inside(holder.body):
        if isinstance(node, ast.FunctionDef) and not is_jit(node, aliases):
            yield from _launches_in(node, node, aliases)
        elif isinstance(node, ast.ClassDef):
            yield from _launches_in(node, owner, aliases)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
            yield node, holder, owner


@functools.lru_cache(maxsize=64)
def _scope(
    holder: _Holder, owner: ast.FunctionDef | None, aliases: Aliases, constants: tuple[tuple[str, int], ...]
) -> Scope:
    """Read the names around a launch; remembered, since a launcher stays the same while its kernel is typed."""
    return scope_of(owner, holder.body, aliases, dict(constants))


def _launch(call: ast.Call, scope: Scope, segment: int, kernel: ast.FunctionDef) -> LaunchSite:
    assert isinstance(call.func, ast.Subscript)
    known = {parameter.arg for parameter in parameters(kernel)}
    options = {k.arg: k.value for k in call.keywords if k.arg in OPTIONS and k.arg not in known}
    return LaunchSite(call, call.func.slice, scope, segment, bound(kernel, call), options)


def torch_unit(
    text: str, name: str, line: int, hot: bool, eval_only: bool, aliases: Aliases, constants: Mapping[str, int]
) -> TorchUnit | None:
    """The function or class of that name; `hot` says that the function itself is a kernel. None when nothing is hot."""
    tree = syntax(text)
    if tree is None:
        return None
    node = next(
        (n for n in tree.body if isinstance(n, ast.FunctionDef | ast.ClassDef) and (n.name, n.lineno) == (name, line)),
        None,
    )
    if isinstance(node, ast.FunctionDef):
        functions = [node] if hot and not _is_support(node) else []
    elif isinstance(node, ast.ClassDef):
        functions = _hot_methods(node)
    else:
        functions = []
    if not functions:
        return None
    scopes = tuple(scope_of(f, f.body, aliases, constants) for f in functions)
    init = (
        next((m for m in node.body if isinstance(m, ast.FunctionDef) and m.name == "__init__"), None)
        if isinstance(node, ast.ClassDef)
        else None
    )
    return TorchUnit(scopes, scope_of(init, init.body, aliases, constants) if init else None, eval_only)


def _is_support(function: ast.FunctionDef) -> bool:
    """Code around kernels (tests, references, training loops): what it waits for or spells out, it does so on purpose."""
    if _SUPPORT.search(function.name):
        return True
    return any(method(node) in ("backward", "step", "assert_close", "synchronize") for node in walk(function))


def _hot_methods(node: ast.ClassDef) -> list[ast.FunctionDef]:
    """`forward` and the methods that it calls on self, in order of the text."""
    methods = {m.name: m for m in node.body if isinstance(m, ast.FunctionDef)}
    if "forward" not in methods:
        return []
    hot, waiting = {"forward"}, ["forward"]
    while waiting:
        for call in walk(methods[waiting.pop()]):
            match call:
                case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=called)):
                    if called in methods and called not in hot:
                        hot.add(called)
                        waiting.append(called)
    return [m for name, m in methods.items() if name in hot]
