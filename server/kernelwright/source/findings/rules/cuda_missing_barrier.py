"""Shared memory that one thread writes and another one uses, with no barrier in between."""

from collections.abc import Iterator
from math import gcd

from kernelwright.source.cuda.flow import VARYING
from kernelwright.source.cuda.text import field, is_inside, walk
from kernelwright.source.findings.cuda import WARP, CudaProblem, CudaUnit, Element
from kernelwright.source.findings.cuda_barriers import Meeting, meetings
from kernelwright.source.findings.rule import Rule, Severity
from kernelwright.source.polynomials import Polynomial, number
from kernelwright.values import Language

_AXES = ("threadIdx.x", "threadIdx.y", "threadIdx.z")


def check(unit: CudaUnit) -> Iterator[CudaProblem]:
    threads = [site.threads for site in unit.launches]
    if threads and all(one is not None and one <= WARP for one in threads):
        return  # one warp: __syncwarp, or nothing, may be enough
    said = set()
    for meeting in meetings(unit):
        first, second = meeting.first, meeting.second
        if second.node.id in said or first.base in said or _is_volatile(unit, first) or _is_volatile(unit, second):
            continue
        if not (_reads_back(meeting) or _overwrites(unit, meeting)) or not _can_be_another(unit, meeting):
            continue
        said |= {second.node.id, first.base}
        yield CudaProblem(second.node, _message(unit, meeting), line_of=first.node)


def _is_volatile(unit: CudaUnit, element: Element) -> bool:
    """Whether the array, or the pointer into it that is used, is declared so: what a warp passes on."""
    base = next((one for one in walk(element.node) if one.type == "identifier"), None)
    variables = (unit.shared[element.base].variable, unit.flow.variable(base) if base is not None else None)
    return any("volatile" in unit.content(one.declaration) for one in variables if one is not None)


def _reads_back(meeting: Meeting) -> bool:
    first, second = meeting.first, meeting.second
    return first.writes and second.kind != "store" and {first.kind, second.kind} != {"atomic"}


def _overwrites(unit: CudaUnit, meeting: Meeting) -> bool:
    """Whether a write comes after a read: in the next turn of a loop, or where all threads read one element.

    Elsewhere a condition that is not followed may keep the threads that read apart from those that write.
    """
    first, second = meeting.first, meeting.second
    if first.kind != "load" or second.kind not in ("store", "update"):
        return False
    if meeting.again:
        between = unit.file.source.source[second.node.end_byte : first.node.start_byte]
        return first.node.start_byte > second.node.start_byte and b"__syncwarp" not in between  # what a warp passes on
    by_all = first.index.number is not None and not unit.is_one_thread(first.node)
    return by_all and bool(second.index.names & set(_AXES)) and not _shares_branch(unit, first, second)


def _shares_branch(unit: CudaUnit, first: Element, second: Element) -> bool:
    """Whether both stand in one branch that only some threads take."""
    here = {guard.statement.id for guard in unit.guards(first.node)}
    return any(guard.statement.id in here and unit.flow.may_vary(guard.condition) for guard in unit.guards(second.node))


def _message(unit: CudaUnit, meeting: Meeting) -> str:
    if not meeting.first.writes and not meeting.again:
        return (
            f"This writes {meeting.second.base} while other threads may still read it in line {{line}}: "
            "put __syncthreads() in between."
        )
    if not meeting.first.writes:
        return (
            f"The next turn of the loop writes {meeting.second.base} here while others may still read it in line {{line}}: "
            "end the loop with __syncthreads()."
        )
    again = (
        " by the turn before"
        if meeting.again and meeting.first.node.start_byte >= meeting.second.node.start_byte
        else ""
    )
    return (
        f"This reads an element of {meeting.second.base} that another thread writes in line {{line}}{again}, with no barrier "
        "in between: put __syncthreads() before it, where all threads come by."
    )


def _can_be_another(unit: CudaUnit, meeting: Meeting) -> bool:
    """Whether the second access can meet an element that another thread's first access was to."""
    first, second = meeting.first, meeting.second
    one, other = unit.index(first), unit.index(second)
    if _are_alternatives(unit, first, second):
        return False
    if one != other and all(any(name.startswith(VARYING) for name in index.names) for index in (one, other)):
        return False  # neither is followed
    apart = other - one
    if not apart.terms:
        waits = meeting.again and first.kind == "atomic"  # for a number that others count up
        return not waits and _is_shared_element(unit, one, first, second)
    if unit.is_one_thread(second.node) and _of_thread_0(one) == other:
        return False  # thread 0 reads what it has written
    if unit.is_one_thread(first.node) and _of_thread_0(other) == one:
        return False
    if _is_kept_apart(unit, meeting, apart):
        return False
    if any(name.startswith(VARYING) and _same_part(one, other, name) for name in one.names):
        return False  # a part of the array for each warp, or another one that is not followed
    steps = [(_number(one, axis), _number(other, axis)) for axis in _AXES]
    counters = apart.names - set(_AXES)
    if any(not name.startswith(VARYING) and name not in unit.counters for name in counters):
        return False  # another buffer, as in double buffering
    if any(a is None or a != b for a, b in steps):
        return True
    strides = [abs(a) for a, _ in steps if a]
    if counters:
        return min(strides, default=0) == 1 or any(name.startswith(VARYING) for name in counters)
    distance = abs(apart.number or 0)
    if not strides or distance % gcd(*strides):
        return False
    threads = [site.threads for site in unit.launches]
    return not (len(strides) == 1 and threads and all(t is not None and distance >= t * strides[0] for t in threads))


def _is_shared_element(unit: CudaUnit, index: Polynomial, first: Element, second: Element) -> bool:
    """Whether the same index is one element for all threads, which one of them writes."""
    if index.names & set(_AXES) or any(name.startswith(VARYING) for name in index.names):
        return False
    if first.kind == "atomic":
        return second.kind != "atomic"
    return unit.is_one_thread(first.node) and not unit.is_one_thread(second.node) and first.kind != "load"


def _are_alternatives(unit: CudaUnit, first: Element, second: Element) -> bool:
    """Whether the same thread makes both, as under one `threadIdx.x == 0`, or all threads of a block only one of them."""
    here = {(guard.statement.id, guard.condition.id): guard for guard in unit.guards(first.node)}
    for guard in unit.guards(second.node):
        same = here.get((guard.statement.id, guard.condition.id))
        if same is None:
            continue
        if same.holds != guard.holds and not unit.flow.may_vary(guard.condition):
            return True
        if same.holds == guard.holds and guard.holds and not guard.is_loop and "==" in unit.content(guard.condition):
            return unit.flow.may_vary(guard.condition)
    return False


def _of_thread_0(index: Polynomial) -> Polynomial:
    """The first element that thread 0 comes to."""
    return index.at(dict.fromkeys((*_AXES, *(name for name in index.names if name.endswith("'"))), 0))


def _is_kept_apart(unit: CudaUnit, meeting: Meeting, apart: Polynomial) -> bool:
    """Whether all writes are below a bound, and all reads as far above: `if (i < k) s[i] += s[i + k];`."""
    for name in apart.names if meeting.loop is not None else ():
        for variable in unit.flow.variables.get(name.rstrip("'"), ()):
            if meeting.loop and any(is_inside(one.node, meeting.loop) for one in unit.flow.writes(variable)):
                return False  # the next turn has another bound
    write, distance = (meeting.first, apart) if meeting.first.writes else (meeting.second, number(0) - apart)
    for guard in unit.guards(write.node):
        left, sign, right = (field(guard.condition, name) for name in ("left", "operator", "right"))
        if left is None or right is None or sign is None or unit.content(sign) != "<" or not guard.holds:
            continue
        below = unit.flow.polynomial(left).at(unit.known) == unit.index(write)
        if below and unit.flow.polynomial(right).at(unit.known) == distance:
            return True
    return False


def _same_part(one: Polynomial, other: Polynomial, name: str) -> bool:
    a, b = one.coefficient(name), other.coefficient(name)
    return a is not None and a == b


def _number(index: Polynomial, axis: str) -> int | None:
    step = index.coefficient(axis)
    return step.number if step is not None else None


RULE = Rule(
    code="cuda.missing-barrier",
    language=Language.CUDA,
    severity=Severity.WARNING,
    title="Shared memory used without a barrier",
    doc="""The warps of a block run at their own pace. What one thread writes to shared memory another one may read only after
`__syncthreads()`, and a loop that fills the array anew needs a second barrier at its end, so that no thread overwrites what
others still read. Not said of elements that only the thread itself uses, of blocks of one warp, of `volatile` arrays, nor of
two buffers that take turns.""",
    example_wrong="""
__global__ void reverse(const float* x, float* y) {
    __shared__ float tile[256];
    int t = threadIdx.x;
    tile[t] = x[blockIdx.x * 256 + t];
    y[blockIdx.x * 256 + t] = tile[255 - t];
}
""",
    example_right="""
__global__ void reverse(const float* x, float* y) {
    __shared__ float tile[256];
    int t = threadIdx.x;
    tile[t] = x[blockIdx.x * 256 + t];
    __syncthreads();
    y[blockIdx.x * 256 + t] = tile[255 - t];
}
""",
    check=check,
)
