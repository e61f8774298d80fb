"""Whether a step that promised a kernel brought one: a decision on the profile of its text."""

from kernelwright import words
from kernelwright.values import Origin, ProfileResult

LEAST_SHARE = 0.005
"""Of the time; a kernel below it stands beside the work of a library and does not do it."""

_MAKERS = {Origin.COMPILED: "torch.compile's", Origin.LIBRARY: "a library's"}
_NAMED = 3


def missing_kernel(profile: ProfileResult, promises_kernel: bool, least_share: float = LEAST_SHARE) -> str | None:
    """None, or why the step is to be rejected: one sentence.

    Without a promise there is nothing to miss: a call of a library is a step like any other. Where the time was not
    measured, or not on a GPU, one launch is enough.
    """
    if not promises_kernel:
        return None
    if not profile.of(Origin.HAND_WRITTEN):
        if not profile.kernels:
            return f"It promised a kernel, but the call launches nothing on {profile.device}."
        return f"It promised a kernel, but {words.part_of(profile, Origin.HAND_WRITTEN)} are hand-written: {_others(profile)}."
    share = profile.hand_written_share
    if share is None or share >= least_share:
        return None
    return (
        f"It promised a kernel, but hand-written ones take {words.percent(share)} of the time: {_others(profile)} "
        "take the rest."
    )


def _others(profile: ProfileResult) -> str:
    """Who does the work instead, by its kernels with the most time."""
    parts = []
    for origin, makers in _MAKERS.items():
        names = [kernel.short_name for kernel in profile.of(origin)]
        if names:
            more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
            parts.append(f"{makers} {', '.join(names[:_NAMED])}{more}")
    return " and ".join(parts)
