"""A block whose last warp is not full."""

from collections.abc import Iterator

from kernelwright.source.findings.cuda import WARP, CudaProblem, CudaUnit
from kernelwright.source.findings.rule import Rule, Severity
from kernelwright.values import Language


def check(unit: CudaUnit) -> Iterator[CudaProblem]:
    for site in unit.launches:
        threads = site.threads
        if threads is None or threads < 2 or threads % WARP == 0 or site.launch.block is None:
            continue
        warps = -(-threads // WARP)
        idle = warps * WARP - threads
        yield CudaProblem(
            site.launch.block,
            f"A block of {threads} threads runs as {_count(warps, 'warp')} of {WARP}, and {idle} of the "
            f"{warps * WARP} lanes {'idles' if idle == 1 else 'idle'}: choose a multiple of {WARP}.",
        )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


RULE = Rule(
    code="cuda.block-size",
    language=Language.CUDA,
    severity=Severity.HINT,
    title="Block that leaves lanes idle",
    doc="""The hardware runs the threads of a block in warps of 32. Where the number of threads is no multiple of 32, the lanes
that are left over in the last warp do nothing. Said where the block's size can be worked out from the text or the workload,
not of a single thread, which is meant to be alone.""",
    example_wrong="""
__global__ void twice(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 2.0f * x[i];
}

void run(float* x, int n) {
    twice<<<(n + 99) / 100, 100>>>(x, n);
    cudaGetLastError();
}
""",
    example_right="""
__global__ void twice(float* x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = 2.0f * x[i];
}

void run(float* x, int n) {
    twice<<<(n + 127) / 128, 128>>>(x, n);
    cudaGetLastError();
}
""",
    check=check,
)
