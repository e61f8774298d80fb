"""An atomic on one address that all threads of a block carry out."""

from collections.abc import Iterator

from tree_sitter import Node

from kernelwright.source.cuda.flow import VARYING
from kernelwright.source.cuda.text import field
from kernelwright.source.findings.cuda import CudaProblem, CudaUnit
from kernelwright.source.findings.rule import Rule, Severity
from kernelwright.values import Language

_NOT_JOINED = ("atomicCAS", "atomicExch", "atomicInc", "atomicDec")  # several at once are not one of them


def check(unit: CudaUnit) -> Iterator[CudaProblem]:
    if not unit.function.is_kernel:
        return  # who passes the address decides
    for call in unit.flow.of_type("call_expression"):
        callee, arguments = field(call, "function"), field(call, "arguments")
        if callee is None or arguments is None or not arguments.named_children:
            continue
        name = unit.content(callee)
        if not name.startswith("atomic") or name.startswith(_NOT_JOINED) or _is_used(call):
            continue
        if _differs(unit, arguments.named_children[0]) or unit.is_one_thread(call):
            continue
        if unit.launches and all(site.threads == 1 for site in unit.launches):
            continue
        yield CudaProblem(
            call,
            f"All threads of a block queue up for one address in this {name}: reduce within the warp or block first, and "
            "let one thread pass on the result.",
        )


def _differs(unit: CudaUnit, argument: Node) -> bool:
    """Whether the address may be another one for each thread."""
    inner = field(argument, "argument")
    if argument.type == "pointer_expression" and inner is not None and inner.type == "identifier":
        return unit.content(inner) not in unit.shared and unit.flow.variable(inner) is not None  # a local of the thread
    return any(one.startswith(("threadIdx", VARYING)) for one in unit.flow.polynomial(argument).names)


def _is_used(call: Node) -> bool:
    """Whether the old value is asked for, as when places are handed out: then a reduction does not do."""
    return call.parent is None or call.parent.type != "expression_statement"


RULE = Rule(
    code="cuda.contended-atomic",
    language=Language.CUDA,
    severity=Severity.HINT,
    title="Atomic that all threads queue up for",
    doc="""Atomics on the same address are carried out one after the other. Where all threads of a block add to one address,
sum up first: with `__shfl_down_sync` in the warp, in shared memory in the block, and one atomic for each block. Not said where
the old value is used, as when places in a list are handed out, nor where the address depends on the thread or the data.""",
    example_wrong="""
__global__ void total(const float* x, float* sum, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(sum, x[i]);
}
""",
    example_right="""
__global__ void total(const float* x, float* sum, int n) {
    float part = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) part += x[i];
    for (int offset = 16; offset > 0; offset /= 2) part += __shfl_down_sync(0xffffffff, part, offset);
    if (threadIdx.x % 32 == 0) atomicAdd(sum, part);
}
""",
    check=check,
)
