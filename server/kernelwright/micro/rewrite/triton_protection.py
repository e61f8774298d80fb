"""Which tensors of a launch a repeated run would spoil."""

import ast
from dataclasses import dataclass

from kernelwright.micro.rewrite.triton_launch import Site
from kernelwright.micro.rewrite.triton_memory import touches
from kernelwright.source.bindings import bindings_of
from kernelwright.source.calls import defaults, parameters
from kernelwright.values import Refusal

_FRESH = ("empty", "zeros", "ones", "full")


@dataclass(frozen=True)
class Protection:
    """Parameters that a repeated run would spoil: autotuning runs the kernel many times."""

    reset_to_zero: tuple[str, ...] = ()
    restore_value: tuple[str, ...] = ()


def protection_of(sites: tuple[Site, ...]) -> Protection | Refusal:
    """What has to be protected for all launches of a kernel: what has to be restored for one of them is, for the others too."""
    found: list[Protection] = []
    for site in sites:
        one = _protection(site)
        if isinstance(one, Refusal):
            return one
        found.append(one)
    restored = {name for one in found for name in one.restore_value}
    protected = restored.union(*(one.reset_to_zero for one in found))
    names = [p.arg for p in parameters(sites[0].definition) if p.arg in protected]
    for site in sites:
        absent = next((name for name in names if _may_be_none(site, site.bound.get(name))), None)
        if absent is not None:
            return Refusal(
                f"Autotuning runs the kernel many times and would restore {absent} in between, for which the launcher "
                "passes None in some calls.",
                line=site.call.lineno - 1,
            )
    return Protection(
        tuple(name for name in names if name not in restored), tuple(name for name in names if name in restored)
    )


def _protection(site: Site) -> Protection | Refusal:
    found = touches(site.kernel.reading)
    lost = next((t for t in found if t.parameter is None and t.kind != "load"), None)
    if lost is not None:
        return Refusal(
            f"Autotuning runs the kernel many times, and what line {lost.line + 1} writes to cannot be told.",
            line=lost.line,
        )
    unknown_load = any(t.parameter is None for t in found)
    read = {t.parameter for t in found if t.kind == "load"}
    read_arguments = {ast.unparse(site.bound[name]) for name in read if name is not None and name in site.bound}
    reset: list[str] = []
    restore: list[str] = []
    for name in (p.arg for p in parameters(site.definition)):
        kinds = {t.kind for t in found if t.parameter == name} - {"load"}
        if not kinds:
            continue
        argument = site.bound.get(name)
        fresh = _maker(site, argument)
        if kinds == {"atomic_add"} and fresh == "zeros" and name not in read:
            reset.append(name)
        elif (
            kinds != {"store"}
            or name in read
            or not fresh
            or unknown_load
            or (argument is not None and ast.unparse(argument) in read_arguments)
        ):
            restore.append(name)
    return Protection(tuple(reset), tuple(restore))


def _maker(site: Site, argument: ast.expr | None) -> str:
    """ "empty", "zeros", "ones" or "full" for a tensor that the launcher makes itself, empty for any other.

    In some calls it may make none, and pass None.
    """
    values = [value for value in _values(site, argument) if not _is_none(value)]
    if len(values) != 1 or not isinstance(values[0], ast.Call):
        return ""
    function = values[0].func
    name = (
        function.attr if isinstance(function, ast.Attribute) else function.id if isinstance(function, ast.Name) else ""
    )
    name = name.removeprefix("new_").removesuffix("_like").removesuffix("_strided")
    return name if name in _FRESH else ""


def _may_be_none(site: Site, argument: ast.expr | None) -> bool:
    return any(_is_none(value) for value in _values(site, argument))


def _values(site: Site, argument: ast.expr | None) -> list[ast.expr]:
    """What the launcher may pass: of a conditional expression both branches, of a name all that it is given."""
    return [one for value in _branches(argument) for one in _given(site, value)] if argument is not None else []


def _branches(value: ast.expr) -> list[ast.expr]:
    return [*_branches(value.body), *_branches(value.orelse)] if isinstance(value, ast.IfExp) else [value]


def _given(site: Site, value: ast.expr) -> list[ast.expr]:
    """What a name is given; a parameter also stands for what callers pass, and for its default where it is given nothing."""
    if not isinstance(value, ast.Name):
        return [value]
    given = [branch for one in bindings_of(site.function) if one.name == value.id for branch in _branches(one.value)]
    if value.id not in {p.arg for p in parameters(site.function)}:
        return given
    default = dict(defaults(site.function)).get(value.id)
    return [value, *given] if given or default is None else [value, default]


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None
