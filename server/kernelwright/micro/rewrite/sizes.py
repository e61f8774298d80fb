"""Sizes as expressions of the launcher's tensors, so that a printed launcher works for other shapes too."""

from collections.abc import Sequence


def dims(name: str, shape: tuple[int, ...], start: int, stop: int, *, any_rank: bool = False) -> str:
    """The product of the dims start:stop of the tensor `name`, with `any_rank` counted from the last one."""
    rank = len(shape)
    if stop == start:
        return "1"
    if stop - start == 1:
        return f"{name}.shape[{start - rank if any_rank or start == rank - 1 else start}]"
    if (start, stop) == (0, rank):
        return f"{name}.numel()"
    return f"{_slice(name, rank, start, stop, any_rank=any_rank)}.numel()"


def shape_text(
    name: str, rank: int, places: Sequence[int | None], *, any_rank: bool = False, leading: bool = False
) -> str:
    """A shape made of dims of the tensor `name`, and of 1 for None.

    With `any_rank` they are counted from the last one, and with `leading` all further dims in front of the first count as it.
    """
    parts: list[str] = []
    runs: list[list[int | None]] = []
    for place in places:
        follows = runs and place is not None and runs[-1][-1] is not None and runs[-1][-1] + 1 == place
        if follows:
            runs[-1].append(place)
        else:
            runs.append([place])
    for number, run in enumerate(runs):
        start, last = run[0], run[-1]
        if start is None or last is None:
            parts.append("1")
            continue
        first = any_rank and leading and number == 0 and start == 0
        if len(run) > 1 or first or (len(runs) == 1 and last == rank - 1):
            parts.append("*" + _slice(name, rank, start, last + 1, any_rank=any_rank, leading=first))
        else:
            parts.append(dims(name, (0,) * rank, start, last + 1, any_rank=any_rank))
    if len(parts) == 1 and parts[0].startswith("*"):
        return parts[0][1:]
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def _slice(name: str, rank: int, start: int, stop: int, *, any_rank: bool, leading: bool = False) -> str:
    if start == 0 and (leading or not any_rank):
        first = ""
    else:
        first = str(start - rank if any_rank or (stop == rank and rank - start == 1) else start)
    last = "" if stop == rank else str(stop - rank if any_rank else stop)
    return f"{name}.shape[{first}:{last}]" if first or last else f"{name}.shape"
