"""Policy 1: rank by the gain to expect from the memory traffic saved, and stop when nothing promises enough.

The gain follows the roofline (Williams, Waterman and Patterson, 2009): a memory-bound kernel that moves `saved` of its
`total` bytes less takes (total - saved) / total of its time. What a measurement has already shown bounds the hope.
"""

import dataclasses
import functools

from kernelwright.macro.policy import Candidate, Policy, Scored
from kernelwright.macro.strategies import group_id, renamed
from kernelwright.macro.strategy import Family, Observation, Strategy
from kernelwright.micro.rewrite.eager_speed import node_seconds
from kernelwright.values import STOP, Action, Language, Outcome, digest

# How likely a step of a family is to keep what it promises; those that cannot lose come first.
_CERTAINTY = {
    Family.ALGEBRA: 1.0,
    Family.FUSION: 0.95,
    Family.REORDERING: 0.9,
    Family.LIBRARY: 0.8,
    Family.VECTORISE: 0.8,
}
_USUAL_CERTAINTY = 0.7

# The gain to expect where nothing can be computed from bytes: what such a step has usually been worth.
_PRIOR = {
    Family.LAUNCH: 0.15,
    Family.TILING: 0.15,
    Family.TENSOR_CORE: 0.5,
    Family.PIPELINING: 0.1,
    Family.FUSION: 0.2,
    Family.REORDERING: 0.15,
    Family.ALGEBRA: 0.1,
}
_USUAL_PRIOR = 0.05


def expected_gain(min_gain: float = 0.02) -> Policy:
    """The policy that stops when nothing untried on this text is expected to gain `min_gain` (a fraction).

    Steps without gain say nothing against Actions that have not been tried: who runs several steps in a row counts
    them and ends the run.
    """
    return functools.partial(_score_all, min_gain=min_gain)


def _score_all(observation: Observation, candidates: tuple[Candidate, ...], *, min_gain: float) -> tuple[Scored, ...]:
    offered = [(one.strategy, one.action) for one in candidates if one.strategy is not None]
    scored = [_score(observation, strategy, action, min_gain) for strategy, action in offered]
    scored = _layout_before_fusion([strategy.family for strategy, _ in offered], scored, min_gain)
    scored.append(_stop(observation, scored, _waiting(observation, offered, min_gain), min_gain))
    return tuple(sorted(scored, key=_rank))


def _layout_before_fusion(families: list[Family], scored: list[Scored], min_gain: float) -> list[Scored]:
    """A layout worth trying goes ahead of the fusions: a fused kernel is written for the layout that it finds."""
    fusions = [one.score for family, one in zip(families, scored, strict=True) if family is Family.FUSION]
    ahead = max(fusions, default=0.0) + 1e-3
    return [
        dataclasses.replace(one, score=ahead) if family is Family.LAYOUT and min_gain <= one.score < ahead else one
        for family, one in zip(families, scored, strict=True)
    ]


def _rank(one: Scored) -> tuple[float, str, int, int, str, str]:
    """Equal scores go by the group's id, the place, and last by the strategy of the group."""
    id, where, params = one.action.strategy, one.action.region, repr(sorted(one.action.params.items()))
    return (-one.score, group_id(id), where.start_line, where.end_line, id, params)


def _stop(observation: Observation, scored: list[Scored], waiting: tuple[str, ...], min_gain: float) -> Scored:
    if any(one.score >= min_gain for one in scored):
        return Scored(STOP, min_gain, 0.0, "Stopping here would leave an expected gain unused.")
    return Scored(STOP, min_gain, 0.0, _why_nothing(observation, waiting, f"{100 * min_gain:.3g} %"))


def _why_nothing(observation: Observation, waiting: tuple[str, ...], enough: str) -> str:
    here = digest(observation.text)
    in_vain = [step for step in observation.history if step.before_hash == here and step.outcome is not Outcome.KEPT]
    nothing, end = ("Nothing else" if in_vain else "Nothing"), "."
    if any(step.measurement is not None for step in in_vain):
        end = "; what was tried on this text brought less."
    elif in_vain:
        end = f"; what was tried on this text came to no measurement. The last try: {in_vain[-1].reason}"
    if not waiting:
        return f"{nothing} is expected to gain {enough} or more{end}"
    return (
        f"{nothing} that can be measured here is expected to gain {enough} or more{end} "
        f"On a GPU {' or '.join(waiting)} may: choose it by name (in the editor's menu, or --strategy {waiting[0]}) "
        "to have it verified, without a time."
    )


def _waiting(observation: Observation, offered: list[tuple[Strategy, Action]], min_gain: float) -> tuple[str, ...]:
    """The strategies that only the lack of a GPU keeps from being worth a step, most promising first."""
    hopes: dict[str, float] = {}
    for strategy, action in offered:
        if not _lacks_gpu(observation, strategy) or tried(observation, action) is not None:
            continue
        hope = _gain(observation, strategy, action)[0] * _certainty(strategy)
        if hope >= min_gain:
            hopes[strategy.id] = max(hope, hopes.get(strategy.id, 0.0))
    return tuple(sorted(hopes, key=lambda id: (-hopes[id], id)))


def _score(observation: Observation, strategy: Strategy, action: Action, min_gain: float) -> Scored:
    before = tried(observation, action)
    if before is not None:
        return Scored(action, -1.0, 0.0, before)
    gain, reason = _gain(observation, strategy, action)
    if _lacks_gpu(observation, strategy):
        return Scored(action, min(gain, 0.99) * min_gain * 0.5, gain, f"{reason} There is no GPU here to run it on.")
    return Scored(action, gain * _certainty(strategy), gain, reason)


def _certainty(strategy: Strategy) -> float:
    return _CERTAINTY.get(strategy.family, _USUAL_CERTAINTY)


def _lacks_gpu(observation: Observation, strategy: Strategy) -> bool:
    """Triton kernels are timed on a GPU alone, and a fusion turns PyTorch code into one."""
    if observation.device.is_gpu:
        return False
    return strategy.needs_gpu or strategy.family is Family.FUSION or observation.kernel.language is Language.TRITON


def tried(observation: Observation, action: Action) -> str | None:
    """Why `action` is not worth repeating on this text, None when it has not been tried on it."""
    for step in reversed(observation.history):
        before = renamed(step.action)
        if before.strategy != action.strategy:
            continue
        same_place = (before.region.start_line, before.region.end_line) == (
            action.region.start_line,
            action.region.end_line,
        )
        same_text = step.before_hash == action.region.text_hash
        if step.outcome is not Outcome.KEPT and same_text and same_place and before.params == action.params:
            return f"Already tried on this text and {step.outcome.value}: {step.reason}"
        own_result = step.outcome is Outcome.KEPT and step.after_hash == action.region.text_hash
        if own_result and before.region.label == action.region.label:
            return "This text is what the same strategy has just produced."
    return None


def _gain(observation: Observation, strategy: Strategy, action: Action) -> tuple[float, str]:
    gain, reason = _unbounded_gain(observation, strategy, action)
    room = _room(observation)
    if room is not None and room < gain:
        return room, f"The last measurement leaves {100 * room:.0f} % up to the roof."
    return gain, reason


def _unbounded_gain(observation: Observation, strategy: Strategy, action: Action) -> tuple[float, str]:
    share = _number(action, "saved_share")
    if share is not None:
        share = min(share, 0.95)
        return share / (1.0 - share), f"Saves about {100 * share:.0f} % of the kernel's memory traffic."
    saved, hint = _number(action, "saved_bytes"), _number(action, "expected_gain")
    if saved is not None and observation.graph is not None:
        traffic = _gain_of_graph(observation, saved, _number(action, "saved_flops") or 0.0)
        return traffic if hint is None or hint <= traffic[0] else (hint, str(action.params.get("reason", strategy.why)))
    if saved is not None:
        return (_PRIOR.get(strategy.family, _USUAL_PRIOR), f"Saves {_bytes(saved)} of memory traffic.")
    if hint is not None:
        return max(hint, 0.0), str(action.params.get("reason", strategy.why))
    return _PRIOR.get(strategy.family, _USUAL_PRIOR), strategy.why


def _gain_of_graph(observation: Observation, saved_bytes: float, saved_flops: float) -> tuple[float, str]:
    graph, device = observation.graph, observation.device
    assert graph is not None
    bandwidth = device.bandwidth or 3e12
    peak = max(device.peak_flops.values(), default=0.0) or 5e13
    total = sum(node_seconds(node, device) for node in graph.nodes)
    saved = max(saved_bytes / bandwidth, saved_flops / peak)
    if total <= 0.0 or saved <= 0.0:
        return 0.0, "Saves no memory traffic."
    share = min(saved / total, 0.95)
    what = f"{_bytes(saved_bytes)} of memory traffic" if saved_bytes > 0 else f"{saved_flops:.2g} operations"
    return share / (1.0 - share), f"Saves {what}, about {100 * share:.0f} % of the time that the roofline allows."


def _room(observation: Observation) -> float | None:
    """The gain left up to the roofline's least time, from the last measurement of this very text."""
    here = digest(observation.text)
    for step in reversed(observation.history):
        measured = step.measurement
        if measured is None or not measured.floor_ms:
            continue
        if step.outcome is Outcome.KEPT and step.after_hash == here:
            return max(measured.candidate.median_ms / measured.floor_ms - 1.0, 0.0)
        if step.outcome is not Outcome.KEPT and step.before_hash == here:
            return max(measured.previous.median_ms / measured.floor_ms - 1.0, 0.0)
    return None


def _number(action: Action, name: str) -> float | None:
    value = action.params.get(name)
    return float(value) if isinstance(value, int | float) else None


def _bytes(count: float) -> str:
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} bytes"
