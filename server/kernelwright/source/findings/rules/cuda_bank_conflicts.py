"""Threads of a warp that use different words of the same bank of shared memory."""

from collections.abc import Iterator

from kernelwright.source.cuda.text import field
from kernelwright.source.findings.cuda import WARP, CudaChange, CudaProblem, CudaUnit, Element, Shared
from kernelwright.source.findings.cuda_words import written
from kernelwright.source.findings.rule import Rule, Severity
from kernelwright.source.polynomials import Polynomial, number
from kernelwright.values import Language

_BANKS = 128  # bytes of all banks side by side
_WORD = 4
_SIZES = (1, 2, 4, 8, 16)


def check(unit: CudaUnit) -> Iterator[CudaProblem]:
    said = set()
    for element in unit.elements:
        if element.space != "shared" or element.size not in _SIZES or not element.is_known:
            continue
        index = unit.index(element)
        lanes = tuple(index.coefficient(f"threadIdx.{axis}") for axis in "xyz")
        if (element.base, lanes) in said or unit.is_one_thread(element.node):
            continue
        message = _growing(unit, element, lanes) or _conflicts(unit, element, index)
        if message:
            said.add((element.base, lanes))
            yield _problem(unit, element, message)


def _conflicts(unit: CudaUnit, element: Element, index: Polynomial) -> str:
    ways = _ways(unit, index, element.size or _WORD)
    if ways is None or ways < 2:
        return ""
    return (
        f"{ways} threads of a warp meet in the same bank of shared memory here, so the access takes {ways} turns, not 1: "
        "choose a row length that spreads them over the banks, such as one more element."
    )


def _ways(unit: CudaUnit, index: Polynomial, size: int) -> int | None:
    """How many different words of one bank the threads of a warp ask for."""
    steps = []
    for axis in "xyz":
        step = index.coefficient(f"threadIdx.{axis}")
        if step is None or step.number is None:
            return None
        steps.append(step.number)
    width, height = unit.block[0] or WARP, unit.block[1] or WARP
    if unit.launches and None in unit.block and any(steps[1:]):
        return None
    word = max(size, _WORD)
    together = WARP * _WORD // word  # threads served at once
    most = 1
    for start in range(0, WARP, together):
        banks: dict[int, set[int]] = {}
        for lane in range(start, start + together):
            if unit.block[0] is not None and lane >= width * height * (unit.block[2] or 1):
                break
            place = (lane % width, lane // width % height, lane // width // height)
            address = sum(step * at for step, at in zip(steps, place, strict=True)) * size // word
            banks.setdefault(address % (_BANKS // word), set()).add(address)
        most = max(most, *(len(words) for words in banks.values())) if banks else most
    return most


def _growing(unit: CudaUnit, element: Element, lanes: tuple[Polynomial | None, ...]) -> str:
    """What to say of `s[2 * stride * threadIdx.x]` in a loop that doubles the stride."""
    step = lanes[0]
    if step is None or step.number is not None or len(step.terms) != 1:
        return ""
    term, factor = step.terms[0]
    for name in term:
        variables = unit.flow.variables.get(name.rstrip("'"), ())
        if not variables or not any(one.operator in ("*=", "<<=") for one in unit.flow.writes(variables[-1])):
            return ""
    if factor * (element.size or _WORD) < 2 * _WORD and factor < 2:
        return ""
    return (
        f"The threads of a warp are {written(step)} elements apart here, a power of two that grows, so more of them meet "
        "in the same bank of shared memory: let neighbouring threads take neighbouring elements and halve the stride."
    )


def _problem(unit: CudaUnit, element: Element, message: str) -> CudaProblem:
    array = unit.shared[element.base]
    if len(array.size_nodes) != 2 or not _is_only_indexed(unit, array) or not _helps(unit, array):
        return CudaProblem(element.node, message)
    last = array.size_nodes[-1]
    change = CudaChange(last, f"{unit.content(last)} + 1")
    return CudaProblem(
        element.node, message, fix=f"Make the rows of {element.base} one element longer", changes=(change,)
    )


def _is_only_indexed(unit: CudaUnit, array: Shared) -> bool:
    """Whether each use of the array gives both indices, so that nothing else relies on its layout."""
    for node in unit.flow.of_type("identifier"):
        if unit.flow.variable(node) is not array.variable or node == array.variable.node:
            continue
        inner = node.parent
        outer = inner.parent if inner is not None else None
        if inner is None or outer is None or {inner.type, outer.type} != {"subscript_expression"}:
            return False
        if field(inner, "argument") != node or field(outer, "argument") != inner:
            return False
        if outer.parent is not None and outer.parent.type == "pointer_expression":
            return False
    return True


def _helps(unit: CudaUnit, array: Shared) -> bool:
    """Whether no access to the array has a conflict left when its rows are one element longer."""
    size = array.sizes[-1]
    for element in unit.elements:
        if element.base != array.variable.name or size is None:
            continue
        row = _row(unit, element, size)
        ways = _ways(unit, (element.index + row).at(unit.known), element.size or _WORD) if row is not None else None
        if ways is None or ways > 1:
            return False
    return True


def _row(unit: CudaUnit, element: Element, size: Polynomial) -> Polynomial | None:
    """The first index of an access, which is what one more element in each row adds to its place."""
    listed = field(field(element.node, "argument"), "indices")
    if listed is None or not listed.named_children or size.terms == number(0).terms:
        return None
    return unit.flow.polynomial(listed.named_children[0])


RULE = Rule(
    code="cuda.bank-conflicts",
    language=Language.CUDA,
    severity=Severity.WARNING,
    title="Bank conflicts in shared memory",
    doc="""Shared memory has 32 banks of 4 bytes. Threads of a warp that ask for different words of the same bank are served
one after the other: a column of `tile[32][32]` takes 32 turns. One more element in each row, `tile[32][33]`, shifts the
rows by a bank each, so that rows and columns are free of conflicts. In a reduction, halve the stride instead of doubling
it. Not said where all threads read the same word, which is handed to all at once.""",
    example_wrong="""
__global__ void transpose(const float* in, float* out, int n) {
    __shared__ float tile[32][32];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    if (x < n && y < n) tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    if (x < n && y < n) out[y * n + x] = tile[threadIdx.x][threadIdx.y];
}
""",
    example_right="""
__global__ void transpose(const float* in, float* out, int n) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    if (x < n && y < n) tile[threadIdx.y][threadIdx.x] = in[y * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    if (x < n && y < n) out[y * n + x] = tile[threadIdx.x][threadIdx.y];
}
""",
    check=check,
)
