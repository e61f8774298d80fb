"""The function that launches a printed kernel: what it checks of a call, and the result that it allocates."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from kernelwright.emit.kernel import dims_text
from kernelwright.micro.rewrite.relies import Alike, Relies, check, refusal
from kernelwright.micro.rewrite.sizes import shape_text
from kernelwright.nest.form import Axis, Load, Nest, Tensor
from kernelwright.nest.index import Index, variable
from kernelwright.nest.rows import folded_dims
from kernelwright.nest.sizes import product_text

_FLOATS = ("float32", "float16", "bfloat16")
_WIDE = 2**31 - 2**16
"""From here on offsets need 64 bits; a block may reach past the end."""


def is_wide(nest: Nest) -> bool:
    """Whether offsets need 64 bits for the captured sizes."""
    return max(nest.numel, *(_numel(tensor.shape) for tensor in nest.tensors)) >= _WIDE


def _numel(shape: Sequence[int]) -> int:
    number = 1
    for size in shape:
        number *= size
    return number


def opening(nest: Nest, launcher: str, *, length: str = "", longest: str = "") -> list[str]:
    """The lines that check a call, and make its tensors contiguous."""
    return [
        *check((_relied_on if nest.along is None else _along_main)(nest, launcher, length, longest)),
        *(
            f"{tensor.name} = {tensor.name}.contiguous({_format_of(tensor.order)})"
            for tensor in nest.tensors
            if tensor.shape and tensor.name not in nest.changed and not _is_number(nest, tensor)
        ),
    ]


def _is_number(nest: Nest, tensor: Tensor) -> bool:
    """Whether a tensor is known to have a single element."""
    return nest.along is not None and set(nest.along.get(tensor.name, (0,))) <= {None}


def _format_of(order: Sequence[int]) -> str:
    """The argument for the memory format of tensors whose dims lie in this order, "" for that of the dims themselves."""
    return f"memory_format=torch.channels_last{'_3d' if len(order) == 5 else ''}" if order else ""


def _along_main(nest: Nest, launcher: str, length: str, longest: str) -> Relies:
    """What is relied on where all other tensors lie along dims of the main one: their shapes, as wholes."""
    main, along = nest.main, nest.along or {}
    rank = len(main.shape)
    others = [tensor for tensor in nest.tensors if tensor is not main]
    shapes: dict[str, list[str]] = {}
    for tensor in others:
        places = along[tensor.name]
        leading = len(places) == rank or places[:1] == (0,)
        text = shape_text(main.name, rank, places, any_rank=nest.any_rank, leading=leading) if places else "()"
        shapes.setdefault(text, []).append(tensor.name)
    alike = [Alike(tuple(names), "shape", text) for text, names in shapes.items()]
    return Relies(
        launcher,
        main.name,
        None if nest.any_rank else rank,
        _least_dims(nest, others),
        _FLOATS if nest.any_dtype else (main.dtype,),
        (*_dtypes(nest, others), *alike),
        nest.needs,
        length,
        longest,
        not is_wide(nest),
        nest.eager,
    )


def _least_dims(nest: Nest, others: Sequence[Tensor]) -> int:
    """How many dims the main tensor must have for the shapes of the others to be told."""
    rank, along = len(nest.main.shape), nest.along or {}
    ends = {len(t.shape) for t in others if t.shape and along[t.name] == tuple(range(rank))[-len(t.shape) :]}
    shapes = max((len(t.shape) for t in others if len(t.shape) not in ends), default=0)
    folded = folded_dims(nest)
    if not folded or (folded == range(rank) and rank > 1):
        return shapes
    rows = rank - folded.start
    return max(shapes, rows if rows > max(ends - {rank}, default=0) else 0)  # a shape that is an end has so many itself


def _relied_on(nest: Nest, launcher: str, length: str, longest: str) -> Relies:
    main = nest.main
    others = [tensor for tensor in nest.tensors if tensor is not main]
    alike = _dtypes(nest, others)
    whole = [tensor.name for tensor in others if _has_all_sizes_of(nest, tensor, main)]
    if whole:
        alike.append(Alike(tuple(whole), "shape", f"{main.name}.shape"))
    rest = [tensor for tensor in others if tensor.name not in whole]
    holds = [(f"{t.name}.dim() != {len(t.shape)}", f"{t.name} of {_count(len(t.shape))}") for t in rest]
    return Relies(
        launcher,
        main.name,
        len(main.shape),
        0,
        _FLOATS if nest.any_dtype else (main.dtype,),
        tuple(alike),
        (
            *holds,
            *_fit(nest, rest),
            *(condition for tensor in (main, *rest) for condition in _sizes(nest, tensor)),
            *((f"not {t.name}.is_contiguous()", f"{t.name} contiguous") for t in others if t.name in nest.changed),
            *nest.needs,
            *([(f"{length} < {nest.least}", f"{nest.least} elements or more to reduce")] if nest.least > 1 else []),
        ),
        "" if nest.least > 1 else length,
        longest,
        not is_wide(nest),
        nest.eager,
    )


def _dtypes(nest: Nest, others: Sequence[Tensor]) -> list[Alike]:
    main, dtypes = nest.main, dict[str, list[str]]()
    for tensor in others:
        same = tensor.dtype == main.dtype and nest.any_dtype
        dtypes.setdefault(f"{main.name}.dtype" if same else f"torch.{tensor.dtype}", []).append(tensor.name)
    return [Alike(tuple(names), "dtype", expected) for expected, names in dtypes.items()]


def _fit(nest: Nest, rest: Sequence[Tensor]) -> list[tuple[str, str]]:
    """That offsets of 32 bits reach all of the tensors whose size does not follow from the main one's."""
    large = [tensor.name for tensor in rest if len(tensor.shape) > 1 and not is_wide(nest)]
    return [(f"{name}.numel() >= 2**31", f"{name} of fewer than 2**31 elements") for name in large]


def _count(number: int) -> str:
    return f"{number} dimension" if number == 1 else f"{number} dimensions"


def _sizes(nest: Nest, tensor: Tensor) -> list[tuple[str, str]]:
    """The sizes of a tensor that are given by the axes that it is read along, and those that must be 1."""
    found: dict[str, str] = {}
    known = {axis.name: axis for axis in (*nest.axes, *nest.parts) if not axis.window}
    # In the launcher's terms before it has names for sizes of its own.
    known |= {dim.name: dim for dim in nest.stored.dims if dim.name in known and _is_dim(known[dim.name], dim)}
    axes = {variable(name): axis.extent for name, axis in known.items()}
    axes |= {place: dim.extent for place, dim in zip(nest.stored.places, nest.stored.dims, strict=False)}
    for load in (let.expr for let in nest.lets if isinstance(let.expr, Load) and let.expr.tensor == tensor.name):
        bounded = {one.index for one in load.inside}
        for index, (start, stop) in _apart(load, known):
            text = dims_text(tensor, start, stop)
            if text == "1":
                for d in range(start, stop):
                    found[f"{tensor.name}.shape[{d}] != 1"] = f"{tensor.name}.shape[{d}] of 1"
            elif index in axes and index not in bounded:
                extent = axes[index]
                if extent.captured == _numel(tensor.shape[start:stop]) and text != extent.text:
                    own, other = text.removesuffix(".numel()"), extent.text
                    if own != text and _SLICE.fullmatch(other):  # of several dims all must be equal, not their product
                        other = other.removesuffix(".numel()")
                    else:
                        own = text
                    found[f"{own} != {other}"] = f"{own} of {other}"
    return list(found.items())


def _is_dim(axis: Axis, dim: Axis) -> bool:
    """Whether an axis is still the whole of a dim of the result."""
    return axis.extent.captured == dim.extent.captured and not axis.parts


def _apart(load: Load, axes: Mapping[str, Axis]) -> Iterator[tuple[Index, tuple[int, int]]]:
    """The indices of a load with the dims of each, those along an axis that has as many parts as there are dims apart."""
    for index, (start, stop) in zip(load.index, load.dims, strict=True):
        parts = axes[index.name].parts if index.name is not None and index.name in axes else ()
        if len(parts) == stop - start > 1:
            yield from ((variable(part.name), (start + d, start + d + 1)) for d, part in enumerate(parts))
        else:
            yield index, (start, stop)


def _has_all_sizes_of(nest: Nest, tensor: Tensor, main: Tensor) -> bool:
    """Whether what is checked of a tensor's sizes comes to its having the shape of `main`."""
    own, number = f"{tensor.name}.shape[", 0
    for condition, _ in _sizes(nest, tensor):
        left, right = condition.split(" != ")
        if left.replace(own, f"{main.name}.shape[") != right:
            return False
        found = re.search(r"\[(\d+):(\d+)\]", left)
        number += int(found[2]) - int(found[1]) if found else 1
    return tensor.shape == main.shape and number == len(main.shape)


def with_local_sizes(nest: Nest) -> Nest:
    """The Nest whose axes have the names of the launcher's variables for sizes that no input has."""
    names = {axis.extent.text: name for axis, name in local_sizes(nest)}

    def renamed(axis: Axis) -> Axis:
        text = axis.extent.text
        for known, name in names.items():
            text = name if text == known else text.replace(f"({known}", f"({name}")
        parts = tuple(map(renamed, axis.parts))
        if parts != axis.parts:
            text = product_text([part.extent.text for part in parts])
        return replace(axis, extent=replace(axis.extent, text=text), parts=parts)

    sizes = {name: names.get(text, text) for name, text in nest.sizes.items()}
    return replace(nest, axes=tuple(axis if axis.window else renamed(axis) for axis in nest.axes), sizes=sizes)


def local_sizes(nest: Nest) -> list[tuple[Axis, str]]:
    """The dims of the result that no input has, each with a name that nothing else has."""
    taken = {*(tensor.name for tensor in nest.tensors), *nest.numbers}
    found: list[tuple[Axis, str]] = []
    for axis in nest.stored.dims:
        if not _OF_A_TENSOR.fullmatch(axis.extent.text):
            base = f"out_{axis.name}"
            found.append((axis, next(n for n in (base, *(f"{base}_{i}" for i in range(2, 9))) if n not in taken)))
    return found


_SLICE = re.compile(r"\w+\.shape\[\d+:\d+\]\.numel\(\)")
_OF_A_TENSOR = re.compile(r"\w+\.shape\[\d+\]|\d+")


def allocation(nest: Nest, launcher: str) -> list[str]:
    """The lines that make the results, and refuse those that offsets of 32 bits do not reach."""
    more = zip(nest.outputs[1:], nest.more, strict=True)
    return [
        *_first_result(nest, launcher),
        *(f"{name} = torch.empty_like(out, dtype=torch.{stored.dtype})" for name, stored in more),
    ]


def _first_result(nest: Nest, launcher: str) -> list[str]:
    main = nest.main
    stored = nest.stored
    same = stored.dtype == main.dtype and not stored.casts
    dtype = "" if same else f", dtype=torch.{stored.dtype}"
    texts = [axis.extent.text for axis in stored.dims]
    if nest.walk is not None and (places := _places_in_main(nest)) is not None:
        return [_new(nest, shape_text(main.name, len(main.shape), places, any_rank=nest.any_rank, leading=True), dtype)]
    own = [f"{main.name}.shape[{d}]" for d in range(len(main.shape))]
    if texts in (own, [text if size != 1 else "1" for text, size in zip(own, main.shape, strict=True)]):
        format_ = _format_of(stored.order) or "memory_format=torch.contiguous_format"
        return [f"out = torch.empty_like({main.name}{dtype}{f', {format_}' if stored.order != main.order else ''})"]
    local = local_sizes(nest)
    names = {axis.name: name for axis, name in local}
    texts = [names.get(axis.name, axis.extent.text) for axis in stored.dims]
    narrow = texts and not is_wide(nest) and nest.along is None  # otherwise the main tensor is the largest
    return [
        *(line for axis, name in local for line in _size_lines(name, axis.extent.text)),
        _new(nest, _tuple(texts), dtype),
        *(refusal(["out.numel() >= 2**31"], f"{launcher} makes fewer than 2**31 elements") if narrow else []),
    ]


def _places_in_main(nest: Nest) -> list[int | None] | None:
    """For each dim of a result that has an element for each row the main tensor's dim that it is, None for one of size 1."""
    dims = {f"{nest.main.name}.shape[{d}]": d for d in range(len(nest.main.shape))}
    texts = [axis.extent.text for axis in nest.stored.dims]
    known = all(text in dims or text == "1" for text in texts)
    return [dims.get(text) for text in texts] if known and len(texts) - texts.count("1") < len(dims) else None


def _new(nest: Nest, shape: str, dtype: str) -> str:
    main, order = nest.main.name, nest.stored.order
    if not order:
        return f"out = {main}.new_empty({shape}{dtype})"
    return f"out = torch.empty({shape}{dtype or f', dtype={main}.dtype'}, device={main}.device, {_format_of(order)})"


def _size_lines(name: str, text: str) -> list[str]:
    """The lines that name a size; a long quotient takes two."""
    quotient = re.fullmatch(r"\((.+)\) // (\S+) \+ 1", text)
    if quotient is None:
        return [f"{name} = {text}"]
    return [f"room = {quotient[1]}", f"{name} = room // {quotient[2]} + 1"]


def _tuple(texts: Sequence[str]) -> str:
    """Sizes as a tuple, runs of one tensor's dims as a slice of its shape."""
    parts: list[str] = []
    runs: list[tuple[str, int, int]] = []
    for text in texts:
        found = re.fullmatch(r"(\w+)\.shape\[(\d+)\]", text)
        if found and runs and runs[-1][0] == found[1] and runs[-1][2] == int(found[2]):
            runs[-1] = (found[1], runs[-1][1], int(found[2]) + 1)
            parts[-1] = f"*{found[1]}.shape[{runs[-1][1]}:{runs[-1][2]}]".replace("[0:", "[:")
        else:
            runs.append((found[1], int(found[2]), int(found[2]) + 1) if found else ("", 0, -1))
            parts.append(text)
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


def parameters(nest: Nest) -> list[str]:
    """The launcher's: tensors, then numbers."""
    return [*(tensor.name for tensor in nest.tensors), *nest.numbers]


def returned(nest: Nest) -> str:
    """The line that returns the results: two as the operator of torch does, which has names for them."""
    names = ", ".join(nest.outputs)
    return f"return torch.return_types.{nest.returns}(({names}))" if nest.more else f"return {names}"
