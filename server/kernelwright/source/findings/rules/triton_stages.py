"""Finds autotuning that leaves num_stages alone for a loop of matrix products."""

import ast
from collections.abc import Iterator

from kernelwright.source.calls import argument
from kernelwright.source.findings.rule import Problem, Rule, Severity
from kernelwright.source.findings.triton import TritonUnit
from kernelwright.source.trees import walk
from kernelwright.values import Language


def check(unit: TritonUnit) -> Iterator[Problem]:
    listed = argument(unit.autotune, 0, "configs") if unit.autotune is not None else None
    if listed is None:
        return
    configs = _listed(unit, unit.scope.single(listed))
    if not configs or any(map(_sets_stages, configs)):
        return
    if "num_stages" in unit.scope.parameters or any("num_stages" in site.options for site in unit.launches):
        return
    loop = next((one.node for one in unit.loops if _multiplies_what_it_loads(unit, one.node)), None)
    if loop is not None:
        yield Problem(
            listed,
            "No configuration sets num_stages, so the loop in line {line} is always pipelined in 3 stages: "
            "add configurations with 2, 4 and 5.",
            line_of=loop,
        )


def _listed(unit: TritonUnit, configs: ast.expr) -> list[ast.Call]:
    """Read the configurations that are written here; none where there is one alone, or some come from elsewhere."""
    match configs:
        case ast.ListComp(elt=each):
            written = [each]
        case ast.List(elts=written) if len(written) > 1:
            pass
        case _:
            return []
    found = [one for one in written if isinstance(one, ast.Call) and unit.canonical(one) == "triton.Config"]
    return found if len(found) == len(written) else []


def _sets_stages(config: ast.Call) -> bool:
    """Tell whether `triton.Config(kwargs, num_warps, num_stages)` sets its third, or passes what cannot be told apart."""
    return len(config.args) > 2 or any(k.arg in ("num_stages", None) for k in config.keywords)


def _multiplies_what_it_loads(unit: TritonUnit, loop: ast.For) -> bool:
    parts = walk(loop)
    loaded = {one.call for one in unit.accesses if one.kind == "load"}
    if isinstance(loop.iter, ast.Call) and any(k.arg == "num_stages" for k in loop.iter.keywords):
        return False
    if any(isinstance(part, ast.For | ast.While) for part in parts[1:]):
        return False
    loads = {part for part in parts if part in loaded}
    dots = [part for part in parts if isinstance(part, ast.Call) and unit.tl(part) == "dot"]
    return any(part in loads for dot in dots for given in dot.args[:2] for part in unit.scope.walk(given))


RULE = Rule(
    code="triton.stages",
    language=Language.TRITON,
    severity=Severity.HINT,
    title="Autotuning without num_stages around tl.dot",
    doc="""While the tensor cores multiply one tile, the next ones are loaded into shared memory: `num_stages` says how many are
on the way. What is best depends on the tile: more stages hide more latency, and take shared memory that large tiles
have not left. Configurations that do not set it all run with 3.""",
    example_wrong="""
import triton, triton.language as tl

@triton.autotune(configs=[triton.Config({"B": 64}, num_warps=4), triton.Config({"B": 128}, num_warps=8)], key=["K"])
@triton.jit
def product(a_ptr, b_ptr, c_ptr, K, B: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B, B), dtype=tl.float32)
    for k in range(0, K, B):
        a = tl.load(a_ptr + i[:, None] * K + k + i[None, :], mask=k + i[None, :] < K, other=0.0)
        b = tl.load(b_ptr + (k + i[:, None]) * B + i[None, :], mask=k + i[:, None] < K, other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + i[:, None] * B + i[None, :], acc)
""",
    example_right="""
import triton, triton.language as tl

@triton.autotune(configs=[triton.Config({"B": 64}, num_stages=4), triton.Config({"B": 128}, num_stages=2)], key=["K"])
@triton.jit
def product(a_ptr, b_ptr, c_ptr, K, B: tl.constexpr):
    i = tl.arange(0, B)
    acc = tl.zeros((B, B), dtype=tl.float32)
    for k in range(0, K, B):
        a = tl.load(a_ptr + i[:, None] * K + k + i[None, :], mask=k + i[None, :] < K, other=0.0)
        b = tl.load(b_ptr + (k + i[:, None]) * B + i[None, :], mask=k + i[:, None] < K, other=0.0)
        acc = tl.dot(a, b, acc)
    tl.store(c_ptr + i[:, None] * B + i[None, :], acc)
""",
    check=check,
)
