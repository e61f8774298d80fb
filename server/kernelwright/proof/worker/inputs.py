"""Tensors for a call: from the specs of a workload line, or from the file's own get_inputs() and get_init_inputs()."""

import dataclasses
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import ModuleType, SimpleNamespace
from typing import Any

import torch

from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.free_memory import free_on
from kernelwright.proof.worker.gpu_generator import GENERATOR
from kernelwright.proof.worker.raised import failure_of
from kernelwright.proof.worker.whole_numbers import rising_as
from kernelwright.proof.worker.without_gpu import user_code
from kernelwright.values import Call, DType, Failure, FailureKind, Namespace, TensorSpec

_LEAD = 64  # elements; a multiple of every alignment that kernels look for
_COPIES = 3  # the judge's, those that are sent, and those of the process that is called
_LARGE = 256 << 20  # bytes for which nobody asks how much memory is free


@dataclass(frozen=True)
class Inputs:
    """Positional and keyword arguments of one call."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = dataclasses.field(default_factory=dict)

    def tensors(self) -> list[torch.Tensor]:
        return list(tensors_in((self.args, self.kwargs)))

    def passed_to(self, target: Callable[..., Any]) -> Any:
        """What the text's function or module returns for them; raises whatever it raises."""
        with user_code():
            return target(*self.args, **self.kwargs)

    def changed(self, change: Callable[[torch.Tensor], torch.Tensor]) -> "Inputs":
        """The same arguments with `change` applied to every tensor, in order."""
        return Inputs(map_tensors(change, self.args), map_tensors(change, self.kwargs))

    def copied(self) -> "Inputs":
        """Each tensor with memory of its own and the same strides (see clone_tensor); what shares memory is not kept tied."""
        return self.changed(clone_tensor)


def without_gradients(target: Callable[..., Any], inputs: Inputs) -> Callable[[], Any]:
    """A call of `target` on these very inputs, which records no gradients."""

    def call() -> Any:
        with torch.no_grad():
            return inputs.passed_to(target)

    return call


def from_call(call: Call, *, device: str, seed: int, scale: float = 1.0, ends: bool = False) -> Inputs:
    """The arguments of an evaluated workload line. Floating inputs are multiplied by `scale`; outputs are poisoned.

    `ends`: about half of the numbers that a randint draws are replaced, by the first or the last one of its range.
    """
    generator = torch.Generator(device=device).manual_seed(seed)

    def leaf(value: Any) -> Any:
        return _tensor(value, device, generator, scale, ends) if isinstance(value, TensorSpec) else data_of(value)

    return Inputs(map_leaves(leaf, call.args), map_leaves(leaf, dict(call.kwargs)))


def bytes_of_call(call: Call) -> int:
    """Bytes of the tensors of an evaluated workload line."""
    specs = specs_in((call.args, call.kwargs))
    return sum(math.prod(spec.shape) * dtype_named(spec.dtype).itemsize for spec in specs)


def bytes_of_get_inputs(module: ModuleType) -> int:
    """Bytes of the tensors of get_inputs(), called on the meta device; 0 without one, or where it needs their values."""
    try:
        made = _run_maker(getattr(module, "get_inputs", tuple), "meta", 0)
    except JobFailed:
        return 0
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors_in(made))


def check_memory(size: int, device: str) -> None:
    """Raises JobFailed where a call's tensors, of `size` bytes, cannot be there as often as a trial needs them."""
    if size < _LARGE or _COPIES * size <= (free := free_on(device)):
        return
    where = "on the GPU" if device == "cuda" else "on this machine"
    raise workload_failed(
        f"The workload's tensors take {size / 1e9:.3g} GB, and a call is made on {_COPIES} copies of them, where "
        f"{free / 1e9:.3g} GB are free {where}: make its sizes smaller, or end what else uses the memory."
    )


def initial_arguments(module: ModuleType, call: Call | None, *, device: str, seed: int) -> Inputs:
    """What a module class is constructed with: what the line says, maybe nothing, or get_init_inputs() without a line.

    A kernel is launched on the grid of the line, one of CUDA in its blocks.
    """
    if call is not None:
        if call.grid is not None:
            return Inputs((call.grid,) if call.block is None else (call.grid, call.block, call.shared, call.template))
        given = dataclasses.replace(call, args=call.init_args or (), kwargs=call.init_kwargs or {})
        return from_call(given, device=device, seed=seed)
    maker = getattr(module, "get_init_inputs", None)
    return _as_inputs(_run_maker(maker, device, seed), "get_init_inputs") if maker else Inputs(())


def from_functions(module: ModuleType, *, device: str, seed: int, scale: float = 1.0) -> Inputs:
    """get_inputs() with the device as torch's default, so that a GPU makes its own random numbers."""
    maker = getattr(module, "get_inputs", None)
    if maker is None:
        raise workload_failed("The file has no get_inputs() function: add one, or a '# workload:' comment.")
    made = _as_inputs(_run_maker(maker, device, seed), "get_inputs")

    def placed(tensor: torch.Tensor) -> torch.Tensor:
        moved = tensor.detach().to(device)
        moved = rising_as(moved, _scaled(moved, scale)) if scale != 1.0 and moved.is_floating_point() else moved
        return moved.requires_grad_() if tensor.requires_grad else moved

    return made.changed(placed)


def seed_everything(seed: int) -> None:
    """The same random numbers for whoever runs next: torch's generators, on the CPU and every GPU, numpy's and Python's."""
    import random

    import numpy

    # torch.manual_seed formats the stack for each kind of device that is there but not in use, which takes 0.4 ms.
    torch.default_generator.manual_seed(seed)
    GENERATOR.manual_seed(seed)
    if torch.cuda.is_initialized():
        for generator in torch.cuda.default_generators:
            generator.manual_seed(seed)
    elif torch.backends.cuda.is_built():
        torch.cuda.manual_seed_all(seed)  # once it is in use
    random.seed(seed)
    numpy.random.seed(seed % 2**32)


def map_leaves(function: Callable[[Any], Any], tree: Any) -> Any:
    """`tree` (lists, tuples, named tuples, dicts) with `function` applied to every leaf."""
    if isinstance(tree, dict):
        return {key: map_leaves(function, value) for key, value in tree.items()}
    if isinstance(tree, tuple) and hasattr(tree, "_fields"):
        return type(tree)(*(map_leaves(function, value) for value in tree))
    if isinstance(tree, list | tuple):
        return type(tree)([map_leaves(function, value) for value in tree])
    return function(tree)


def map_tensors(change: Callable[[torch.Tensor], torch.Tensor], tree: Any) -> Any:
    """`tree` with `change` applied to every tensor; all else stays."""
    return map_leaves(lambda leaf: change(leaf) if isinstance(leaf, torch.Tensor) else leaf, tree)


def leaves(tree: Any, where: str = "") -> Iterator[tuple[str, Any]]:
    """What lists, tuples and dicts hold, in order, with its name: `where`, then keys and places in brackets."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from leaves(value, f"{where}[{key!r}]")
    elif isinstance(tree, list | tuple):
        for index, value in enumerate(tree):
            yield from leaves(value, f"{where}[{index}]")
    else:
        yield where, tree


def tensors_in(tree: Any) -> Iterator[torch.Tensor]:
    """The tensors of `tree`, in order."""
    return (leaf for _, leaf in leaves(tree) if isinstance(leaf, torch.Tensor))


def specs_in(tree: Any) -> Iterator[TensorSpec]:
    """The tensors that a workload line asks for, in order."""
    return (leaf for _, leaf in leaves(tree) if isinstance(leaf, TensorSpec))


def lead_of(tensor: torch.Tensor) -> int:
    """Elements of its storage that a copy has before its first one, so that it begins later where `tensor` does.

    At most 127, of the offset's own remainder by 64, so that the alignment is kept; 0 only for an offset of 0.
    """
    offset = tensor.storage_offset() if tensor.layout is torch.strided else 0
    return min(offset, _LEAD + offset % _LEAD)


def clone_tensor(tensor: torch.Tensor, lead: int | None = None) -> torch.Tensor:
    """Copy with the same strides, also where elements are spaced out; grad mode is left behind but the flag is kept.

    The copy begins `lead` elements behind the start of its storage, `lead_of(tensor)` if None; those before it are poisoned.
    """
    source = tensor.detach()
    span = 1 + sum((size - 1) * stride for size, stride in zip(source.shape, source.stride(), strict=True))
    if source.layout is torch.strided and source.numel() and span > 2 * source.numel():
        return source.clone().requires_grad_(tensor.requires_grad)  # a sparse view of a large buffer: only its elements
    # An expanded tensor has several indices per element, which copy_ refuses to write.
    if any(stride == 0 and size > 1 for size, stride in zip(source.shape, source.stride(), strict=True)):
        return source.clone().requires_grad_(tensor.requires_grad)
    copy = torch.empty_strided(source.shape, source.stride(), dtype=source.dtype, device=source.device)
    lead = lead_of(source) if lead is None else lead
    if lead and source.numel():  # by set_: torch restricts what may be done to a view that was made without gradients
        wide = poison_(torch.empty(lead + span, dtype=source.dtype, device=source.device))
        copy = torch.empty(0, dtype=source.dtype, device=source.device)
        copy.set_(wide.untyped_storage(), lead, source.shape, source.stride())
    return copy.copy_(source).requires_grad_(tensor.requires_grad)


def moved_into(old: Inputs, new: Inputs) -> Inputs:
    """The old tensors with the new contents: neither address, shape nor version tells a cache that they changed."""
    for tensor, value in zip(old.tensors(), new.tensors(), strict=True):
        tensor.data.copy_(value)
    return old


def poison_(tensor: torch.Tensor) -> torch.Tensor:
    """Fill in place with NaN, or with a value that no computation would give by chance where there is no NaN."""
    if tensor.is_floating_point() or tensor.is_complex():
        return tensor.fill_(float("nan"))
    if tensor.dtype is torch.bool:
        return tensor.fill_(True)
    return tensor.fill_(torch.iinfo(tensor.dtype).max - 22)


def dtype_named(name: str) -> torch.dtype:
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise workload_failed(f"The workload asks for dtype={name}, which this torch does not have.")
    return dtype


def data_of(value: Any) -> Any:
    """A dtype or a namespace of a workload line as Python has it; any other value as it is."""
    if isinstance(value, DType):
        return dtype_named(value.name)
    return SimpleNamespace(**map_leaves(data_of, dict(value.fields))) if isinstance(value, Namespace) else value


def workload_failed(message: str, detail: str = "", line: int | None = None) -> JobFailed:
    return JobFailed(Failure(FailureKind.WORKLOAD_FAILED, message, detail, line))


def _tensor(spec: TensorSpec, device: str, generator: torch.Generator, scale: float, ends: bool) -> torch.Tensor:
    dtype = dtype_named(spec.dtype)
    shape, finish = _memory_shape(spec)
    tensor = finish(_generated(spec, shape, dtype, device, generator, ends))
    if spec.role == "out":
        return poison_(tensor)
    if scale != 1.0 and tensor.is_floating_point():
        tensor = rising_as(tensor, _scaled(tensor, scale))
    return tensor.requires_grad_() if spec.requires_grad else tensor


def _scaled(tensor: torch.Tensor, scale: float) -> torch.Tensor:
    """By way of float32 in 8 bits, in which nothing is multiplied."""
    return tensor * scale if tensor.dtype.itemsize > 1 else (tensor.float() * scale).to(tensor.dtype)


def _memory_shape(spec: TensorSpec) -> tuple[tuple[int, ...], Callable[[torch.Tensor], torch.Tensor]]:
    """The shape to allocate, and the view or copy that gives the asked layout."""
    if spec.strides:
        apart = tuple(1 if stride == 0 else size for size, stride in zip(spec.shape, spec.strides, strict=True))
        return apart, lambda t: _spread(t, spec.strides).expand(spec.shape)
    if spec.layout == "transposed" and len(spec.shape) >= 2:
        return (*spec.shape[:-2], spec.shape[-1], spec.shape[-2]), lambda t: t.transpose(-1, -2)
    if spec.layout == "channels_last":
        formats = {4: torch.channels_last, 5: torch.channels_last_3d}
        if len(spec.shape) not in formats:
            raise workload_failed(
                f"layout=channels_last needs 4 or 5 dimensions, the workload gives {len(spec.shape)}."
            )
        return spec.shape, lambda t: t.contiguous(memory_format=formats[len(spec.shape)])
    return spec.shape, lambda t: t


def _spread(tensor: torch.Tensor, strides: tuple[int, ...]) -> torch.Tensor:
    """A copy with these strides; what lies between its elements is poisoned."""
    span = 1 + sum((size - 1) * stride for size, stride in zip(tensor.shape, strides, strict=True))
    wide = poison_(torch.empty(span if tensor.numel() else 0, dtype=tensor.dtype, device=tensor.device))
    return wide.as_strided(tensor.shape, strides).copy_(tensor)


def _generated(
    spec: TensorSpec, shape: tuple[int, ...], dtype: torch.dtype, device: str, generator: torch.Generator, ends: bool
) -> torch.Tensor:
    made_as = dtype if dtype.itemsize > 1 or not dtype.is_floating_point else torch.float32  # float8 has no generators
    match spec.generator, spec.parameters:
        case "randn" | "rand" as name, _:
            made = getattr(torch, name)(shape, dtype=made_as, device=device, generator=generator)
        case "randint", (low, high):
            made = torch.randint(int(low), int(high), shape, device=device, generator=generator)
            if ends:
                way = torch.rand(shape, device=device, generator=generator)
                made = made.masked_fill_(way < 0.25, int(low)).masked_fill_(way > 0.75, int(high) - 1)
            if made.numel() > 1:  # a branch for one number of many would be taken in few calls, or in none
                made.view(-1)[0].fill_(int(low))
                made.view(-1)[-1].fill_(int(high) - 1)
        case "randperm", _:
            made = torch.randperm(math.prod(shape), device=device, generator=generator)
        case "offsets", (last,):
            made = _offsets(math.prod(shape), int(last), device, generator)
        case "tensor", values:
            made = torch.tensor(values, dtype=made_as, device=device).reshape(shape)
        case "zeros" | "empty" | "ones", _:
            made = torch.full(shape, spec.generator == "ones", dtype=made_as, device=device)
        case "full", (value,):
            made = torch.full(shape, value, dtype=made_as, device=device)
        case "arange", (start, stop, step):
            made = torch.arange(start, stop, step, dtype=made_as, device=device).reshape(shape)
        case _:
            raise workload_failed(f"The workload uses {spec.generator}{spec.parameters}, which has no generator here.")
    return made.to(dtype)


def _offsets(count: int, last: int, device: str, generator: torch.Generator) -> torch.Tensor:
    """Numbers that rise from 0 to the last, by chance; where there are enough, two are equal."""
    made = torch.randint(0, last + 1, (count,), device=device, generator=generator)
    if count > 1:
        made[0], made[-1] = 0, last
    made = made.sort().values
    if count > 3:
        made[2] = made[1]
    return made


def _run_maker(maker: Callable[[], Any], device: str, seed: int) -> Any:
    seed_everything(seed)
    try:
        with user_code(), torch.device(device):
            return maker()
    except (Exception, SystemExit) as error:
        raise JobFailed(failure_of(error, f"{maker.__name__}() raised", FailureKind.WORKLOAD_FAILED)) from error


def _as_inputs(made: Any, name: str) -> Inputs:
    """KernelBench returns a list of arguments; a dict is taken as keyword arguments."""
    if isinstance(made, dict):
        return Inputs((), made)
    if isinstance(made, list | tuple):
        if len(made) == 2 and isinstance(made[0], list | tuple) and isinstance(made[1], dict):
            return Inputs(tuple(made[0]), made[1])
        return Inputs(tuple(made))
    raise workload_failed(f"{name}() must return a list of arguments, it returned a {type(made).__name__}.")
