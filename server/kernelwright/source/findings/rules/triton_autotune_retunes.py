"""Finds keys of an autotuner that make it measure again without need."""

import ast
import re
from collections.abc import Iterator

from kernelwright.source.findings.rule import Change, Problem, Rule, Severity
from kernelwright.source.findings.scope import source
from kernelwright.source.findings.triton import TritonUnit, key_of
from kernelwright.values import Language

LENGTH = re.compile(
    r"(?:^|_)(?:max_?)?(?:(?:q|k|kv)_)?(?:seq_?len(?:gth)?s?|n_?ctx|context_?len|ctx_?len)(?:_|$)|^seqlen",
    re.IGNORECASE,
)
"""Names of what has another value in nearly every call."""
_ROUNDING = ("triton.next_power_of_2", "triton.cdiv", "math.ceil", "math.log2")
_TILES = ("make_block_ptr", "make_tensor_descriptor", "advance", "arange", "cdiv", "range", "static_range")


def check(unit: TritonUnit) -> Iterator[Problem]:
    key = key_of(unit)
    if key is None:
        return
    sizes = frozenset(unit.scope.parameters) - unit.constexprs
    listed = [(element, str(element.value)) for element in key.elts if isinstance(element, ast.Constant)]
    steering = _steering(unit) if any(name in sizes for _, name in listed) else frozenset()
    count = f"all {len(unit.configs)} configurations" if unit.configs else "all configurations"
    for element, name in listed:
        if name not in sizes:
            continue
        if name in unit.used and name not in steering and not _in_a_grid(unit, name):
            message = (
                f"{name} changes neither addresses nor loops nor branches, so the best configuration does not depend on it; "
                f"every new value of it has the autotuner measure {count} again."
            )
            yield Problem(element, message, 0, *_without(key, element))
        elif LENGTH.search(name) and _passed_as_it_is(unit, name):
            yield Problem(
                element,
                f"Every new {name} has the autotuner measure {count} again: where lengths vary from call to call, "
                "pass and name a rounded one instead, such as the next power of two.",
            )


def _steering(unit: TritonUnit) -> frozenset[str]:
    """Collect the names that decide which elements are read and written, how often, and in which branch."""
    places: list[ast.AST] = [part for one in unit.accesses for part in (one.pointer, one.mask) if part is not None]
    for node in unit.nodes:
        if isinstance(node, ast.For):
            places.append(node.iter)
        elif isinstance(node, ast.While | ast.If | ast.IfExp):
            places.append(node.test)
        elif isinstance(node, ast.Call) and (unit.tl(node) in _TILES or not unit.tl(node)):
            places += [*node.args, *(keyword.value for keyword in node.keywords)]
    return frozenset(part.id for part in unit.scope.walk(*places) if isinstance(part, ast.Name))


def _in_a_grid(unit: TritonUnit, name: str) -> bool:
    for site in unit.launches:
        passed = site.bindings.get(name)
        parts = {source(part) for part in site.scope.walk(site.grid) if isinstance(part, ast.expr)}
        if passed is not None and source(passed) in parts:
            return True
    return False


def _without(key: ast.List | ast.Tuple, element: ast.expr) -> tuple[str, tuple[Change, ...]]:
    rest = [source(one) for one in key.elts if one is not element]
    if not rest:
        return "", ()
    return f"Leave {source(element)} out of the key", (Change(key, "[" + ", ".join(rest) + "]"),)


def _passed_as_it_is(unit: TritonUnit, name: str) -> bool:
    """Tell whether launches pass it, and none of them rounds it."""
    passed = [(site.scope, site.bindings[name]) for site in unit.launches if name in site.bindings]
    return bool(passed) and not any(
        isinstance(getattr(part, "op", None), ast.FloorDiv | ast.RShift)
        or (isinstance(part, ast.Call) and scope.canonical(part) in _ROUNDING)
        or (isinstance(part, ast.Attribute) and part.attr == "bit_length")
        for scope, value in passed
        for part in scope.walk(value)
    )


RULE = Rule(
    code="triton.autotune-retunes",
    language=Language.TRITON,
    severity=Severity.HINT,
    title="Autotuner that measures again without need",
    doc="""`triton.autotune` measures all its configurations whenever a parameter of its `key` has a value that it has not seen,
with the GPU waiting. A dropout probability, a seed or a scale changes no access and no loop, so the configuration
that was best stays so: leave it out. A sequence length may be another one in every call: pass it rounded as a
parameter of its own, such as `triton.next_power_of_2(length)`, and name that. Not said of compile-time parameters.""",
    example_wrong="""
import triton, triton.language as tl

@triton.autotune(configs=[triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 1024})], key=["n", "p"])
@triton.jit
def drop(x_ptr, y_ptr, n, p, seed, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    keep = tl.rand(seed, offs) > p
    tl.store(y_ptr + offs, tl.where(keep, x / (1 - p), 0.0), mask=offs < n)
""",
    example_right="""
import triton, triton.language as tl

@triton.autotune(configs=[triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 1024})], key=["n"])
@triton.jit
def drop(x_ptr, y_ptr, n, p, seed, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n)
    keep = tl.rand(seed, offs) > p
    tl.store(y_ptr + offs, tl.where(keep, x / (1 - p), 0.0), mask=offs < n)
""",
    check=check,
)
