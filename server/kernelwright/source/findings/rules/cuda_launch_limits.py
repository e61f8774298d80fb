"""A launch that the device refuses."""

from collections.abc import Iterator

from tree_sitter import Node

from kernelwright.source.findings.cuda import CudaProblem, CudaUnit
from kernelwright.source.findings.cuda_launches import LaunchSite
from kernelwright.source.findings.rule import Rule, Severity
from kernelwright.values import Language

_THREADS = 1024
_DEEP = 64
_SHARED = 48 * 1024
_ROWS = 65535


def check(unit: CudaUnit) -> Iterator[CudaProblem]:
    for site in unit.launches:
        found = next(_refused(unit, site), None)
        if found is not None:
            yield CudaProblem(found[0], f"{found[1]} The launch fails, and the kernel does not run.")


def _refused(unit: CudaUnit, site: LaunchSite) -> Iterator[tuple[Node, str]]:
    grid, block, shared = site.launch.grid, site.launch.block, site.launch.shared
    if block is not None and site.threads is not None and site.threads > _THREADS:
        yield block, f"A block has {_THREADS} threads at most, and this one asks for {site.threads}."
    if block is not None and site.block[2] is not None and site.block[2] > _DEEP:
        yield block, f"A block has {_DEEP} threads at most in z, and this one asks for {site.block[2]}."
    if block is not None and site.threads == 0:
        yield block, "A block has at least one thread, and with the sizes of the workload this one has none."
    for axis in (1, 2):
        size = site.grid[axis]
        if grid is not None and size is not None and size > _ROWS:
            yield (
                grid,
                f"A grid has {_ROWS} blocks at most in {'xyz'[axis]}, and with these sizes it has {size}: use x for it.",
            )
    if grid is not None and site.blocks == 0:
        yield grid, "With the sizes of the workload the grid has no blocks: round the division up."
    size = site.numbers.whole(shared)
    if shared is not None and size is not None and size > _SHARED and not unit.raises_shared:
        yield shared, f"More than {_SHARED} bytes of shared memory need cudaFuncSetAttribute first, and this is {size}."


RULE = Rule(
    code="cuda.launch-limits",
    language=Language.CUDA,
    severity=Severity.WARNING,
    title="Launch beyond the limits of the device",
    doc="""A block has at most 1024 threads, 64 of them in z; a grid has at most 65535 blocks in y and in z, and at least one.
More than 48 KiB of dynamic shared memory must be asked for with `cudaFuncSetAttribute`. Otherwise the launch fails without a
word. Said where the numbers follow from the text or the workload.""",
    example_wrong="""
__global__ void twice(float* x, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && col < cols) x[row * cols + col] *= 2.0f;
}

cudaError_t run(float* x, int rows, int cols) {
    dim3 block(64, 32);
    twice<<<dim3((cols + 63) / 64, (rows + 31) / 32), block>>>(x, rows, cols);
    return cudaGetLastError();
}
""",
    example_right="""
__global__ void twice(float* x, int rows, int cols) {
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < rows && col < cols) x[row * cols + col] *= 2.0f;
}

cudaError_t run(float* x, int rows, int cols) {
    dim3 block(64, 16);
    twice<<<dim3((cols + 63) / 64, (rows + 15) / 16), block>>>(x, rows, cols);
    return cudaGetLastError();
}
""",
    check=check,
)
