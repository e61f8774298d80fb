"""Arrays in shared memory that do not fit into what a kernel has without asking."""

from collections.abc import Iterator

from kernelwright.source.findings.cuda import CudaProblem, CudaUnit, Shared
from kernelwright.source.findings.rule import Rule, Severity
from kernelwright.values import Language

_MOST = 48 * 1024


def check(unit: CudaUnit) -> Iterator[CudaProblem]:
    sized = [(size, one) for one in unit.shared.values() if (size := _bytes(unit, one)) is not None]
    total = sum(size for size, _ in sized)
    if total > _MOST:
        _, largest = max(sized, key=lambda found: found[0])
        yield CudaProblem(
            largest.variable.node,
            f"Arrays of a fixed size have {_MOST} bytes of shared memory together, and these take {total}: nothing compiles. "
            "Use extern __shared__ with cudaFuncSetAttribute, or smaller tiles.",
        )


def _bytes(unit: CudaUnit, array: Shared) -> int | None:
    """The bytes of an array, where its size is known."""
    total = unit.size_of(array.kind)
    for size in array.sizes:
        number = size.at(unit.known).number if size is not None else None
        if number is None or total is None:
            return None
        total *= number
    return total


RULE = Rule(
    code="cuda.static-shared",
    language=Language.CUDA,
    severity=Severity.WARNING,
    title="More than 48 KiB of static shared memory",
    doc="""Arrays declared `__shared__` with a fixed size have 48 KiB together, on every device; the assembler refuses more.
Larger ones are declared `extern __shared__`, get their size from the launch, and need `cudaFuncSetAttribute` with
`cudaFuncAttributeMaxDynamicSharedMemorySize`.""",
    example_wrong="""
__global__ void sums(const float* x, float* y) {
    __shared__ float rows[64][256];
    for (int r = 0; r < 64; ++r) rows[r][threadIdx.x] = x[r * 256 + threadIdx.x];
    float sum = 0.0f;
    for (int r = 0; r < 64; ++r) sum += rows[r][threadIdx.x];
    y[threadIdx.x] = sum;
}
""",
    example_right="""
__global__ void sums(const float* x, float* y) {
    __shared__ float rows[32][256];
    for (int r = 0; r < 32; ++r) rows[r][threadIdx.x] = x[r * 256 + threadIdx.x];
    float sum = 0.0f;
    for (int r = 0; r < 32; ++r) sum += rows[r][threadIdx.x];
    y[threadIdx.x] = sum;
}
""",
    check=check,
)
