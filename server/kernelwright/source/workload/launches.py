"""Workload lines that launch a Triton kernel themselves, on tensors of equal sides: for one that nothing in its file
launches, or whose launcher does not come to it."""

import ast
import functools
import re
from collections.abc import Mapping, Sequence

from kernelwright.source.trees import walk
from kernelwright.source.workload.guessing import FLAG, Choice, choices, scalar
from kernelwright.source.workload.pointers import uses_of_pointers
from kernelwright.source.workload.signature import Parameters, device_function
from kernelwright.values import Launch, Refusal

_SIDES = {3: 32, 4: 16, 5: 8}  # by the dimensions of the tensors; else 64
_MOST = 5  # dimensions
_GRIDS = ("", ", 2", ", 2, 2")  # what follows the programs of the first axis, by how many axes there are
_CONFIG = re.compile(r"\bConfig\(\s*(?:kwargs\s*=\s*)?(?:\{([^{}]*)\}|dict\(([^()]*)\))")
_HEURISTIC = re.compile(r"[\"'](\w+)[\"']\s*:")
_KEY = re.compile(r"[\"'](\w+)[\"']\s*:|(?<!\w)(\w+)\s*=")
_OPTIONS = {"num_warps": "4", "num_stages": "2"}
_POINTER = re.compile(r"(?:^|_)(?:ptrs?|pointer)$", re.I)
_LITERAL = re.compile(r"-?[\d.]+(?:e-?\d+)?|True|False|None|'\w*'|\"\w*\"")
_STRIDE = re.compile(r"stride", re.I)


def lines_for_launch(
    text: str, name: str, parameters: Parameters, decorators: str, launches: Sequence[Launch] = ()
) -> tuple[str, ...] | Refusal:
    """`kernel[grid](…)` in a few ways, best first. What tunes a kernel gives some of its arguments itself.

    What all `launches` of the file write out, as a block size, is what they say.
    """
    written = _written(parameters, launches)
    tuned = _tuned(text, parameters, decorators)
    given = [p for p, default in parameters.all() if p.arg not in tuned and (default is None or is_constant(p))]
    pointers = frozenset(p.arg for p in given if not is_constant(p))
    uses = uses_of_pointers(parameters.tree, pointers, functools.partial(device_function, text))
    if not any("store" in use for use in uses.values()):
        return Refusal(f"{name} writes to no memory that it is given: it is a part of other kernels, and not launched.")
    strides, rank = _strides([p.arg for p in given if _STRIDE.search(p.arg)])
    side = _SIDES.get(rank, 64)
    flags = [p.arg for p in given if is_constant(p) and _is_flag(p, parameters.tree)]
    usual, other = ("square", "flat") if strides else ("flat", "square")  # elements in a row, as of a pointwise kernel
    deviations = [(1, "programs", "1"), (2, "sizes", other), *((2, flag, "True") for flag in flags)]
    if written:
        deviations.append((2, "constants", "guessed"))
    if rank < _MOST:
        deviations.append((2, "rank", str(rank + 1)))  # more memory than the sizes speak of
    axes = [axis for node in walk(parameters.tree) if (axis := _axis(node)) is not None]

    def argument(parameter: ast.arg, choice: Choice) -> str:
        key = parameter.arg
        if key in written and "constants" not in choice:
            return written[key]
        if use := uses.get(key, set()) - {"passed"}:
            return _pointer(use, side, int(choice.get("rank", rank)))
        if key in strides:
            return str(side ** strides[key])
        if key in flags:
            return choice.get(key, "False")
        if re.search("seed", key, re.I):
            return "0"
        if key in _OPTIONS:
            return _OPTIONS[key]
        if _POINTER.search(key) and not is_constant(parameter):
            return "None"  # no use of it is seen
        if values := scalar(parameter, _options(text, key)):
            return values[0]
        flat = choice.get("sizes", usual) == "flat" and not is_constant(parameter)
        return str(side * side if flat else side)

    first = next(
        (place for place, p in enumerate(parameters.positional) if p not in given or is_constant(p)), len(given)
    )
    by_name = {p.arg for p in given} - {p.arg for p in parameters.positional[:first]}
    named = [(p, f"{p.arg}=" if p.arg in by_name else "") for p in given]
    found: dict[str, None] = {}
    for choice in choices(deviations):
        grid = f"({choice.get('programs', side)},{_GRIDS[min(max(axes, default=0), 2)].removeprefix(',')})"
        found[f"# workload: {name}[{grid}]({', '.join(f'{word}{argument(p, choice)}' for p, word in named)})"] = None
    return tuple(found)


def _written(parameters: Parameters, launches: Sequence[Launch]) -> dict[str, str]:
    """The arguments that are the same literal in every launch."""
    names = [parameter.arg for parameter in parameters.positional]
    passed = [dict(zip(names, launch.args, strict=False)) | dict(launch.kwargs) for launch in launches]
    same = passed[0].items() if passed else ()
    return {
        name: value
        for name, value in same
        if _LITERAL.fullmatch(value) and all(other.get(name) == value for other in passed)
    }


def _tuned(text: str, parameters: Parameters, decorators: str) -> set[str]:
    """The parameters that configurations or heuristics fill in; block sizes where the configurations are elsewhere."""
    keys: set[str] = set()
    if "autotune" in decorators:
        written = (match[1] or match[2] or "" for match in _CONFIG.finditer(text))
        keys |= {one or other for config in written for one, other in _KEY.findall(config)}
        keys = keys or {p.arg for p, _ in parameters.all() if is_constant(p) and "block" in p.arg.lower()}
    if "heuristics" in decorators:
        keys |= set(_HEURISTIC.findall(decorators))
    return keys


def is_constant(parameter: ast.arg) -> bool:
    """Whether a parameter of a Triton kernel is annotated as a constant that it is compiled with."""
    return parameter.annotation is not None and "constexpr" in ast.unparse(parameter.annotation)


def _is_flag(parameter: ast.arg, tree: ast.AST) -> bool:
    """Whether a constant decides alone, or beside others, which way is taken."""
    tests = [n.test for n in walk(tree) if isinstance(n, ast.If | ast.IfExp | ast.While)]
    alone = [part for test in tests for part in (test, *(test.values if isinstance(test, ast.BoolOp) else ()))]
    named = {
        inner.id for part in alone for inner in (part, getattr(part, "operand", part)) if isinstance(inner, ast.Name)
    }
    return parameter.arg in named or bool(FLAG.match(parameter.arg))


def _options(text: str, name: str) -> list[str | int | bool]:
    """The words that a name is compared with, in a function that the kernel passes it on to as well."""
    return [*dict.fromkeys(re.findall(rf"\b{name}\s*[=!]=\s*[\"'](\w+)[\"']", text))]


def _strides(names: list[str]) -> tuple[Mapping[str, int], int]:
    """Of each stride the power of the side that it is, and how many dimensions tensors have."""
    groups: dict[str, list[str]] = {}
    for name in names:
        words = [word for word in name.lower().split("_") if word and word != "stride"]
        tensor = "".join(words)[:1] if len(words) < 2 else f"{words[0]} grad" if "grad" in words else words[0]
        groups.setdefault(tensor, []).append(name)
    powers: dict[str, int] = {}
    for group in groups.values():
        for place, name in enumerate(reversed(group)):
            powers[name] = 1 if len(group) == 1 else min(place, _MOST - 1)
    return powers, min(max([2, *map(len, groups.values())]), _MOST)


def _pointer(use: set[str], side: int, rank: int) -> str:
    sizes = ", ".join([str(side)] * rank)
    if "bytes" in use:
        return f"randint(0, 127, {sizes}, dtype=int8)"
    if use & {"index", "place"}:
        return f"randperm({side})" if "place" in use else f"randint(0, {side}, {sizes})"
    return f"randn({sizes})" if "load" in use else f"out({sizes})"


def _axis(node: ast.AST) -> int | None:
    match node:
        case ast.Call(func=ast.Attribute(attr="program_id"), args=args, keywords=keywords):
            number = next((k.value for k in keywords if k.arg == "axis"), args[0] if args else None)
            return number.value if isinstance(number, ast.Constant) and isinstance(number.value, int) else 0
    return None
