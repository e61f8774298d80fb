"""One call of a target on private copies of its inputs, and everything that it left behind."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch

from kernelwright.proof.worker import flags
from kernelwright.proof.worker.inputs import Inputs, clone_tensor, map_leaves, seed_everything, tensors_in
from kernelwright.proof.worker.interpreter.rounds import next_round
from kernelwright.proof.worker.poison import PoisonedAllocation
from kernelwright.proof.worker.tensors import as_tensor, may_be_written, same_bits

_OF_EVERY_MODULE = frozenset(vars(torch.nn.Module()))
_SMALL_LIST = 64


@dataclass(frozen=True)
class Observation:
    """What one call returned and changed; plain data, so that another process could judge it.

    `changed_inputs` maps the index of a tensor input to its contents after the call, when they differ; `changed_state`
    likewise for the module's buffers and parameters. `aliases` are (output index, name of what shares its memory).
    `settings`, of a call that was `watched`, and `random`: flags.read() and flags.generators() behind the call.
    """

    output: Any
    changed_inputs: Mapping[int, torch.Tensor] = field(default_factory=dict)
    changed_state: Mapping[str, torch.Tensor] = field(default_factory=dict)
    aliases: frozenset[tuple[int, str]] = frozenset()
    settings: Mapping[str, Any] = field(default_factory=dict)
    random: Mapping[str, str] = field(default_factory=dict)

    def tensors(self) -> list[torch.Tensor]:
        return list(tensors_in(self.output))

    def results(self) -> list[torch.Tensor]:
        """The tensors of the output, and its numbers as tensors of one element."""
        return list(tensors_in(map_leaves(lambda x: as_tensor(x) if type(x) is float else x, self.output)))


def observe(
    target: Callable[..., Any],
    inputs: Inputs,
    *,
    seed: int,
    poisoned: bool = False,
    calls: int = 1,
    watched: bool = False,
    earlier: Callable[[int], Inputs] | None = None,
) -> Observation:
    """Call `target` on copies of `inputs` without gradients, on the same random numbers for every target.

    With `poisoned`, memory from torch.empty holds NaN, and programs in Triton's interpreter run in the other order. Of
    `calls`, which draw from one stream of random numbers, the last is observed; call number i before it gets `earlier(i)`, else
    half of the floating-point numbers of the next. The module's buffers are put back afterwards. Raises whatever the target
    raises.
    """
    next_round(other_order=poisoned)
    given = inputs.copied()
    state = named_state(target)
    versions = {name: tensor._version for name, tensor in state.items()}
    seed_everything(seed)
    with buffers_put_back(target) as before:
        with torch.no_grad():
            with PoisonedAllocation() if poisoned else contextlib.nullcontext():
                for number in range(1, calls):
                    before_it = earlier(number) if earlier else _scaled(inputs, 0.5 ** (calls - number))
                    before_it.passed_to(target)
                output = given.passed_to(target)
                synchronize()
            random, settings = flags.generators(), flags.read() if watched else {}  # before no_grad puts its own back
        changed_inputs = {
            index: after
            for index, (after, original) in enumerate(zip(given.tensors(), inputs.tensors(), strict=True))
            if may_be_written(after, original)
        }
        changed_state = {
            name: clone_tensor(tensor)
            for name, tensor in state.items()
            if (name in before and not same_bits(tensor, before[name]))
            or (name not in before and tensor._version != versions[name])
        }
    aliases = _aliases(output, given, state)
    return Observation(output, changed_inputs, changed_state, aliases, settings, random)


def _scaled(inputs: Inputs, factor: float) -> Inputs:
    scaled = inputs.copied()
    for tensor in scaled.tensors():
        if tensor.is_floating_point():
            tensor.mul_(factor)
    return scaled


def named_state(target: Any) -> dict[str, torch.Tensor]:
    """Parameters and buffers of a module by name; nothing for a function."""
    if not isinstance(target, torch.nn.Module):
        return {}
    return {**dict(target.named_parameters()), **dict(target.named_buffers())}


def attributes_of(target: Any) -> dict[str, torch.Tensor]:
    """Copies of a module's and its parts' plain attributes: numbers, words, None, tensors, small lists of these."""
    parts = target.named_modules() if isinstance(target, torch.nn.Module) else ()
    return {
        f"{name}.{key}".lstrip("."): tensor
        for name, part in parts
        for given, value in vars(part).items()
        if given not in _OF_EVERY_MODULE
        for key, tensor in _as_tensors(given, value)
    }


def changed(after: Mapping[str, torch.Tensor], before: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """What of `after` is new or another than before."""
    return {name: t for name, t in after.items() if name not in before or not same_bits(t, before[name])}


def _as_tensors(name: str, value: Any) -> Iterator[tuple[str, torch.Tensor]]:
    match value:
        case torch.Tensor() if value.layout is torch.strided:
            yield name, clone_tensor(value.detach())
        case float() | int() if isinstance(value, float) or abs(value) < 2**63:
            yield name, torch.tensor(value)
        case str() | None:
            yield name, torch.tensor(list((value or "").encode()), dtype=torch.uint8)
        case list() | tuple() if len(value) <= _SMALL_LIST:
            yield f"len({name})", torch.tensor(len(value))
            for index, one in enumerate(value):
                yield from _as_tensors(f"{name}[{index}]", one)


@contextlib.contextmanager
def buffers_put_back(target: Any) -> Iterator[dict[str, torch.Tensor]]:
    """Within it, copies of what a module's buffers held before; they hold it again afterwards."""
    state, before = named_state(target), buffers_of(target)
    try:
        yield before
    finally:
        put_back(state, before)


def buffers_of(target: Any) -> dict[str, torch.Tensor]:
    """Copies of a module's buffers."""
    state = named_state(target).items()
    return {name: clone_tensor(t) for name, t in state if not isinstance(t, torch.nn.Parameter)}


def put_back(state: Mapping[Any, torch.Tensor], saved: Mapping[Any, torch.Tensor]) -> None:
    """Write what is `saved` into those of its places that the state has."""
    with torch.no_grad():
        for name in saved.keys() & state.keys():
            state[name].copy_(saved[name])


def synchronize() -> None:
    """Wait for all work on all streams of the device."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def _aliases(output: Any, given: Inputs, state: Mapping[str, torch.Tensor]) -> frozenset[tuple[int, str]]:
    owners = {address: f"input {i}" for i, tensor in enumerate(given.tensors()) if (address := _storage(tensor))}
    owners |= {address: f"self.{name}" for name, tensor in state.items() if (address := _storage(tensor))}
    outputs = list(enumerate(tensors_in(output)))
    found = {(index, owners[address]) for index, tensor in outputs if (address := _storage(tensor)) in owners}
    # Parts of one tensor are several outputs, too: what begins at the same element is the same.
    first: dict[int, int] = {}
    for index, tensor in outputs:
        if tensor.numel() and _storage(tensor):
            earlier = first.setdefault(torch._C._data_address(tensor), index)
            found |= {(index, f"output {earlier}")} if earlier != index else set()
    return frozenset(found)


def _storage(tensor: torch.Tensor) -> int:
    if tensor.layout is not torch.strided or type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        return 0
    # data_ptr() makes a copy that was left for later: until then the memory is its source's.
    return torch._C._data_address(tensor) - tensor.storage_offset() * tensor.element_size() if tensor.numel() else 0
