"""Sizes as expressions of the launcher's tensors, so that a printed launcher works for other shapes too."""

import math

from kernelwright.micro.rewrite.program import ELEMENT, Operand, Program, Term
from kernelwright.micro.rewrite.scope import NotLowerable
from kernelwright.micro.rewrite.tensor_layout import CHANNELS_LAST


def suffix(program: Program, operand: Operand, term: Term) -> str:
    """The number of elements of the main tensor that the operand's index stays the same for, in a row of neighbours.

    Raises NotLowerable where that is no product of the main tensor's last dims.
    """
    main, shape, size, last = program.main.name, program.domain.shape, term.inner, term.last
    if program.domain.layout == CHANNELS_LAST and operand.level == ELEMENT:
        return _channels_last_suffix(main, shape, size)
    if 0 <= last < len(shape) and math.prod(shape[len(shape) - last :]) == size:
        return dims(main, shape, len(shape) - last, len(shape)) if last else "1"
    if size == 1:
        return "1"
    for start in range(len(shape) - 1, -1, -1):
        if math.prod(shape[start:]) == size:
            return dims(main, shape, start, len(shape))
    raise NotLowerable("A broadcast does not follow the dims of the region's main tensor.")


def _channels_last_suffix(name: str, shape: tuple[int, ...], size: int) -> str:
    """suffix() in the order of channels-last memory, where the channels come last. Raises NotLowerable."""
    if size == 1:
        return "1"
    for start in range(len(shape), 1, -1):
        if shape[1] * math.prod(shape[start:]) == size:
            spatial = dims(name, shape, start, len(shape))
            return f"{name}.shape[1]" if spatial == "1" else f"{name}.shape[1] * {spatial}"
    raise NotLowerable("A broadcast does not follow the dims of the region's main tensor.")


def dims(name: str, shape: tuple[int, ...], start: int, stop: int) -> str:
    """The product of the dims start:stop of the tensor `name`."""
    rank = len(shape)
    if stop == start:
        return "1"
    if stop - start == 1:
        return f"{name}.shape[{start - rank if start == rank - 1 else start}]"
    if stop == rank:
        return f"{name}.numel()" if start == 0 else f"{name}.shape[{start}:].numel()"
    return f"{name}.shape[{start}:{stop}].numel()"


def term_size(name: str, shape: tuple[int, ...], term: Term, place: tuple[int, int]) -> str:
    """The number of elements of the tensor `name` that one term walks over."""
    if term.size == math.prod(shape):
        return f"{name}.numel()"
    return dims(name, shape, *place)


def result_shape(program: Program) -> str | None:
    """The shape of a result with one number per row, from the main tensor's; None when it does not follow from it."""
    main, shape, axes = program.main.name, program.domain.shape, program.domain.axes
    if axes is None:
        return None
    kept = [d for d in range(len(shape)) if not axes[0] <= d < axes[1]]
    parts: list[str] = []
    for size in program.result_shape:
        if kept and shape[kept[0]] == size:
            parts.append(f"{main}.shape[{kept.pop(0)}]")
        elif size == 1:
            parts.append("1")
        else:
            return None
    if any(shape[d] != 1 for d in kept):
        return None
    return ", ".join(parts)
