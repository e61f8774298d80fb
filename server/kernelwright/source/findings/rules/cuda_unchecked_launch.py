"""A file that launches kernels and never asks whether that worked."""

from collections.abc import Iterator

from kernelwright.source.findings.cuda import CudaProblem, CudaUnit
from kernelwright.source.findings.rule import Rule, Severity
from kernelwright.values import Language


def check(unit: CudaUnit) -> Iterator[CudaProblem]:
    if unit.is_checked or not unit.is_first or not unit.launches:
        return
    callee = unit.launches[0].launch.node.child_by_field_name("function")
    if callee is not None:
        yield CudaProblem(
            callee,
            "A launch returns no error by itself: a block that is too large leaves the results as they were. "
            "Look at cudaGetLastError() after it.",
        )


RULE = Rule(
    code="cuda.unchecked-launch",
    language=Language.CUDA,
    severity=Severity.HINT,
    title="Launch whose errors nobody sees",
    doc="""A launch with too many threads, too much shared memory or no code for the device does not run, and the program goes
on with the old contents of its results. `cudaGetLastError()` after the launch tells. Said once for each file, at the first
launch, and not where the file asks for errors anywhere or has a macro or function that checks them, nor of one without `main`
that is a header, includes headers of its project, or calls what it neither defines nor includes: its callers may ask.""",
    example_wrong="""
__global__ void twice(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 2.0f * x[i];
}

void run(float* x, int n) {
    twice<<<(n + 127) / 128, 128>>>(x, n);
}
""",
    example_right="""
__global__ void twice(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 2.0f * x[i];
}

cudaError_t run(float* x, int n) {
    twice<<<(n + 127) / 128, 128>>>(x, n);
    return cudaGetLastError();
}
""",
    check=check,
)
