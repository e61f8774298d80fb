"""What one call did, by origin: hand-written kernels, torch.compile's, a library's operators. Pure; no torch."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kernelwright.values import Origin, ProfiledOn

SENTINEL = "aten::bitwise_not_"
"""Runs first in a profile on a GPU: where it is not seen, nothing is."""

# Neither computes nor moves data: allocation, views, metadata.
_NOTHING = re.compile(
    r"(_?(new_)?empty\w*|as_strided\w*|\w*view\w*|_?reshape\w*|expand\w*|t|transpose|permute|(un)?squeeze|select|slice"
    r"|narrow|chunk|\w*split\w*|unbind|unfold|diagonal|(un)?flatten|alias|detach|lift\w*|resolve_\w+|movedim|swapaxes"
    r"|set|resize\w*|size|stride|numel|item|_local_scalar_dense|is_\w+|result_type|to|contiguous|record_stream)"
)
# Moves or sets data and computes nothing.
_MOVES = re.compile(
    r"(copy|_copy_from\w*|_to_copy|clone|fill|zeros?\w*|new_zeros|ones\w*|new_ones|full\w*|new_full)|Mem(cpy|set).*"
    r"|.*\bat::native::(direct_copy_kernel|FillFunctor).*"
)

_STANDING_FOR = {
    "matrix product": r"((add|badd|addb)?b?mm|matmul|linear|addmv|mv|dot|vdot|_addmm_activation|_scaled_mm|mkldnn_linear)",
    "convolution": r"\w*conv(olution|_?(transpose)?_?\dd|_depthwise\dd|_tbc)\w*",
    "batch norm": r"\w*batch_norm\w*",
}
_BACKEND = re.compile(r"^(native|cudnn|miopen|mkldnn)_")


@dataclass(frozen=True)
class Part:
    """All runs of one kernel or operator in a call; `amount` as the Work says."""

    name: str
    origin: Origin
    count: int
    amount: float


@dataclass(frozen=True)
class Work:
    """One call. Amounts are microseconds when `timed`, else elements of the tensors that were handed over.

    `untimed` says why there are no times, `raised` tells of a hand-written kernel whose launch raised while the call came back.
    `by_operator`: a library's parts are operators; else they are kernels, on a GPU.
    """

    measured_on: ProfiledOn
    parts: tuple[Part, ...]
    raised: str = ""
    untimed: str = ""
    by_operator: bool = True

    @property
    def timed(self) -> bool:
        return not self.untimed

    def of(self, *origins: Origin) -> tuple[Part, ...]:
        """The parts of these origins that are more than bookkeeping, those with the largest amount first."""
        found = (part for part in self.parts if part.origin in origins and not is_nothing(part.name))
        return tuple(sorted(found, key=lambda part: -part.amount))

    @property
    def hand_written(self) -> tuple[Part, ...]:
        return self.of(Origin.HAND_WRITTEN)

    @property
    def computing(self) -> tuple[Part, ...]:
        """What libraries and torch.compile compute; neither copies nor fills."""
        return tuple(part for part in self.of(Origin.LIBRARY, Origin.COMPILED) if not is_move(part.name))


def amount(parts: Iterable[Part]) -> float:
    return sum(part.amount for part in parts)


def is_nothing(name: str) -> bool:
    """Whether an operator only allocates, or looks at memory in another way."""
    return name == "detach" or (name.startswith("aten::") and _NOTHING.fullmatch(_bare(name)) is not None)


def is_move(name: str) -> bool:
    """Whether an operator or activity only copies or fills."""
    return _MOVES.fullmatch(_bare(name)) is not None


def purpose(name: str) -> str:
    """What an operator is for: the same for those that stand for each other, as a product with a bias and one without."""
    bare = _bare(name)
    found = (common for common, pattern in _STANDING_FOR.items() if re.fullmatch(pattern, bare))
    return next(found, _BACKEND.sub("", bare).lstrip("_"))


def beyond(work: Work, other: Work) -> tuple[Part, ...]:
    """The library parts of `work` that `other` does less often, each with the amount of the runs that are more."""
    left: Counter[str] = Counter()
    for part in other.of(Origin.LIBRARY, Origin.COMPILED):
        left[purpose(part.name)] += part.count
    found: list[Part] = []
    for part in work.of(Origin.LIBRARY, Origin.COMPILED):
        also = min(part.count, left[purpose(part.name)])
        left[purpose(part.name)] -= also
        if more := part.count - also:
            found.append(Part(part.name, part.origin, more, part.amount * more / part.count))
    return tuple(found)


def parts_of_trace(
    trace: Mapping[str, Any], origin_of: Callable[[str], Origin], *, by_operator: bool = True
) -> tuple[tuple[Part, ...], bool] | None:
    """The parts of a call from a profiler's trace in Chrome's format; None where the sentinel was not seen.

    A kernel goes by its own name; with `by_operator` a library's goes by the innermost operator that launched it, and runs
    of the operator are counted, not the kernels that one run launches. Where no operator has launched one, as in the replay
    of a CUDA graph, all go by their own names; whether they do not is returned, too. Times are in microseconds.
    """
    events = [event for event in trace.get("traceEvents", ()) if event.get("ph") == "X"]
    operators = {_id(event): str(event["name"]) for event in events if event.get("cat") == "cpu_op"}
    ran = [event for event in events if event.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset")]
    ran.sort(key=lambda event: float(event.get("ts", 0.0)))
    launched_by = [operators.get(_id(event)) for event in ran]
    if SENTINEL not in launched_by:
        return None
    del ran[launched_by.index(SENTINEL)]
    origins = [origin_of(str(event["name"])) for event in ran]
    computing = [e for e, of in zip(ran, origins, strict=True) if of is Origin.LIBRARY and not is_move(str(e["name"]))]
    by_operator = by_operator and all(_id(event) in operators for event in computing)
    times: Counter[tuple[str, Origin]] = Counter()
    runs: defaultdict[tuple[str, Origin], set[object]] = defaultdict(set)
    for number, (event, origin) in enumerate(zip(ran, origins, strict=True)):
        operator = operators.get(_id(event)) if by_operator and origin is Origin.LIBRARY else None
        key = operator or str(event["name"]), origin
        times[key] += float(event.get("dur", 0.0))
        runs[key].add(_id(event) if operator else -number - 1)
    return tuple(Part(*key, len(runs[key]), time) for key, time in times.items()), by_operator


def _id(event: Mapping[str, Any]) -> object:
    return event.get("args", {}).get("External id")


def _bare(name: str) -> str:
    """ "aten::add_" as "add"; a name of another space as it is."""
    return name.removeprefix("aten::").rstrip("_") if name.startswith("aten::") else name
