"""A launcher that allocates or copies in every turn of the loop that launches."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from kernelwright.source.cuda.text import field, of_type
from kernelwright.source.findings.cuda import CudaProblem, CudaUnit
from kernelwright.source.findings.rule import Rule, Severity
from kernelwright.values import Language

_SLOW = {
    re.compile(
        r"cuda(?:Malloc|Free|MallocManaged|MallocHost|FreeHost)$"
    ): "waits for the device and takes far longer than a launch",
    re.compile(r"cudaMemcpy$"): "waits until all kernels before it have ended",
    re.compile(r"cuda(?:Device|Thread)Synchronize$"): "leaves the device idle until the next launch",
}
_LOOPS = ("for_statement", "while_statement", "do_statement")


def check(unit: CudaUnit) -> Iterator[CudaProblem]:
    said = set()
    for site in unit.launches:
        loop = _loop(site.launch.node)
        for call in of_type(loop, "call_expression") if loop is not None and not _is_of_devices(unit, loop) else ():
            callee = field(call, "function")
            name = unit.content(callee) if callee is not None else ""
            why = next((why for pattern, why in _SLOW.items() if pattern.match(name)), "")
            if not why or call.id in said or _is_conditional(call, loop):
                continue
            said.add(call.id)
            yield CudaProblem(call, f"{name} {why}, and this loop calls it with every launch: move it out of the loop.")


def _loop(node: Node) -> Node | None:
    """The innermost loop around a launch: what stands in others only is not called with every launch."""
    above = node.parent
    while above is not None and above.type not in (*_LOOPS, "function_definition"):
        above = above.parent
    return above if above is not None and above.type in _LOOPS else None


def _is_of_devices(unit: CudaUnit, loop: Node) -> bool:
    """Whether each turn of a loop works on another device, or in another thread of the host."""
    before = loop.prev_named_sibling
    shared = before is not None and before.type == "preproc_call" and "omp" in unit.content(before).split()
    return shared or "cudaSetDevice" in unit.content(loop)


def _is_conditional(call: Node, loop: Node | None) -> bool:
    """Whether only some turns of the loop come to the call."""
    child, above = call, call.parent
    while above is not None and above != loop:
        if above.type == "if_statement" and child != field(above, "condition"):
            return True
        child, above = above, above.parent
    return False


RULE = Rule(
    code="cuda.copy-in-loop",
    language=Language.CUDA,
    severity=Severity.WARNING,
    title="Allocation, copy or wait in a loop of launches",
    doc="""`cudaMalloc`, `cudaFree` and `cudaMemcpy` wait for the device, and so does `cudaDeviceSynchronize`: in a loop that
launches kernels the device stands still between any two of them. Allocate before the loop, copy before or after it, and let the
launches follow each other; kernels of one stream run in order anyway. Not said of calls that only some turns come to, nor of
loops over devices.""",
    example_wrong="""
__global__ void step(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i];
}

cudaError_t run(float* x, int n, int steps) {
    for (int s = 0; s < steps; ++s) {
        float* y;
        cudaMalloc(&y, n * sizeof(float));
        step<<<(n + 127) / 128, 128>>>(x, y, n);
        cudaMemcpyAsync(x, y, n * sizeof(float), cudaMemcpyDeviceToDevice);
        cudaFree(y);
    }
    return cudaGetLastError();
}
""",
    example_right="""
__global__ void step(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i];
}

cudaError_t run(float* x, float* y, int n, int steps) {
    for (int s = 0; s < steps; ++s) {
        step<<<(n + 127) / 128, 128>>>(s % 2 ? y : x, s % 2 ? x : y, n);
    }
    return cudaGetLastError();
}
""",
    check=check,
)
