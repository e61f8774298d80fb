"""Calls of the text that are looked at and not timed: one, several in a row, one with gradients, one under the profiler,
one that a workload line describes."""

import contextlib
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from kernelwright.proof.worker import failed, flags, surroundings, without_gpu
from kernelwright.proof.worker.backward import AddsItself, BackwardFailed, NoGradient, gradients
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.hosts import bounds, messages
from kernelwright.proof.worker.hosts.parcels import described
from kernelwright.proof.worker.hosts.room import Room, inputs_of, settle, told, unpacked_as_sent
from kernelwright.proof.worker.inputs import (
    Inputs,
    from_call,
    initial_arguments,
    moved_into,
    poison_,
    seed_everything,
    tensors_in,
)
from kernelwright.proof.worker.interpreter import rounds
from kernelwright.proof.worker.languages import language_of
from kernelwright.proof.worker.observe import Observation, attributes_of, buffers_put_back, changed
from kernelwright.proof.worker.observe import observe as observed_call
from kernelwright.proof.worker.poison import PoisonedAllocation, poison_freed_blocks
from kernelwright.proof.worker.profiling.counting import counted_launches
from kernelwright.proof.worker.profiling.looking import look as look_at
from kernelwright.proof.worker.recording.recorder import written_launches
from kernelwright.proof.worker.subject import case_call, make_target
from kernelwright.values import Case, Check, Workload, WorkloadSource

FEWEST_CALLS = 2  # further ones, however slow: what is kept in turns of two shows
_DELAY = 20_000_000  # cycles of the GPU's clock, some 10 ms: longer than any host takes to launch a call


def observe(room: Room, request: messages.Observe) -> messages.Reply:
    inputs = inputs_of(room, request.inputs)
    poison_freed_blocks(request.poison_sizes, room.device)
    target, seed = room.targets[request.key], request.seed
    before = attributes_of(target) if request.attributes else {}
    seen = observed_call(target, inputs, seed=seed, poisoned=request.poisoned, calls=request.calls, watched=True)
    if request.attributes:
        moved = changed(attributes_of(target), before)
        seen = replace(seen, changed_state={name: moved[name] for name in moved if name in request.attributes})
    tree, outputs = described(seen.output)
    after = [seen.changed_inputs.get(i, original) for i, original in enumerate(inputs.tensors())]
    names = list(seen.changed_state)
    sent = told(room, [*outputs, *after, *(seen.changed_state[name] for name in names)])
    first, last = len(outputs), len(outputs) + len(after)
    observed = messages.Observed(
        messages.Returned(tree, sent[:first]),
        sent[first:last],
        dict(zip(names, sent[last:], strict=True)),
        tuple(sorted(seen.aliases)),
        tuple(surroundings.differences(room.settings, seen.settings)),
        tuple(flags.replaced_functions()),
        tuple(surroundings.added(room.settings, seen.settings)),
        seen.random,
        _compiled(),
        asks_for_gpu=without_gpu.was_asked_for(),
    )
    if not request.bounded:
        return observed
    del seen, outputs, after
    why = bounds.look(target, inputs, seed=seed)
    return replace(observed, unbounded=why)


def _compiled() -> bool:
    """Whether torch.compile has made code of anything in this process."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return dynamo is not None and bool(dynamo.counters["frames"].get("ok"))


def attempt(room: Room, request: messages.Attempt) -> messages.Reply:
    target = room.targets[request.key]
    for parcel in request.inputs:
        with contextlib.suppress(Exception):
            given = inputs_of(room, parcel)
            given.passed_to(target)
    return messages.Done()


def call_often(room: Room, request: messages.CallOften) -> messages.Reply:
    target, first, second = room.targets[request.key], inputs_of(room, request.first), inputs_of(room, request.second)
    same, called = first.copied(), lambda given: given.passed_to(target)
    with buffers_put_back(target):
        seed_everything(request.seed)
        output = called(first)
        settle(room)  # whether the answer is there without waiting is asked by call_in_order
        kept = [t.clone() for t in tensors_in(output)]
        made, start = 0, time.monotonic()
        while made < request.times and (made < FEWEST_CALLS or time.monotonic() - start < request.seconds):
            called(second.copied())
            made += 1
        after = [t.clone() for t in tensors_in(output)]  # the call below may put back what these calls have overwritten
    with buffers_put_back(target):
        seed_everything(request.seed)
        returned = called(same)
        settle(room)
        with torch.inference_mode():  # in which tensors that were made in it can be written to as well
            for one in tensors_in(output) if request.overwriting else ():
                if 0 not in one.stride():
                    poison_(one)
        settle(room)
        again = [t.clone() for t in tensors_in(returned)]
    moved: list[torch.Tensor] = []
    if request.moving:
        moved_into(first, second)
        with buffers_put_back(target):
            seed_everything(request.seed)
            moved += tensors_in(called(first))
    settle(room)
    sent = told(room, [*kept, *after, *again, *moved])
    count, known = len(kept), 2 * len(kept) + len(again)
    return messages.Often(sent[:count], sent[count : 2 * count], sent[2 * count : known], sent[known:], made)


def call_in_order(room: Room, request: messages.CallInOrder) -> messages.Reply:
    """A call that does not wait for the stream computes on the other data.

    It is made there once before, so that nothing is left to be set up, which may wait for the device.
    """
    target, inputs, given = room.targets[request.key], inputs_of(room, request.inputs), inputs_of(room, request.other)
    with buffers_put_back(target):
        given.passed_to(target)
    settle(room)
    with buffers_put_back(target):
        torch.cuda._sleep(_DELAY)
        moved_into(given, inputs)
        seed_everything(request.seed)
        output = given.passed_to(target)
        sent = told(room, tensors_in(output))  # put there on the same stream, without waiting for the device
    return messages.Returned(None, sent)


def differentiate(room: Room, request: messages.Differentiate) -> messages.Reply:
    inputs, sent = inputs_of(room, request.inputs), unpacked_as_sent(room, request.cotangents)
    target = room.targets[request.key]
    try:
        found = gradients(target, inputs, lambda index, _: sent.get(index), request.parameters, seed=request.seed)
    except AddsItself as added:
        return messages.Refused(Check("gradient", "", False, str(added)))
    except (NoGradient, BackwardFailed) as lacking:
        return messages.Gradients(lacking=str(lacking))
    return messages.Gradients(told(room, found.tensors), found.unreached, found.carried)


def look(room: Room, request: messages.Look) -> messages.Reply:
    target, inputs = room.targets[request.key], inputs_of(room, request.inputs)
    room.armed = None  # the memory of the last sample
    seed_everything(request.seed)
    call = lambda: inputs.passed_to(target)
    own = room.module, room.path, room.text, language_of(room.language)
    with buffers_put_back(target):
        return look_at(call, *own, device=room.device, interpreted=request.interpreted)


def try_line(room: Room, request: messages.Try) -> messages.Reply:
    call = case_call(request.line)
    workload = Workload(WorkloadSource.LINES, call.entry, (Case(0, 0, request.line),))
    module, seed = room.module, request.seed
    assert module is not None
    constructed: dict[str, Any] = {"device": room.device, "seed": 0}
    repeats, written, began = True, 0, time.process_time()
    if request.configuration is not None:
        rounds.take_next(request.configuration)
    home = str(module.__file__) if request.written == room.path else request.written
    try:
        with counted_launches(lambda file: True) as seen, written_launches(home, request.kernels) as lines:
            target = make_target(module, workload, initial_arguments(module, call, **constructed), **constructed)
            inputs = from_call(call, device=room.device, seed=seed)
            if any(tensor.requires_grad for tensor in inputs.tensors()):
                gradients(target, inputs, lambda _, output: torch.ones_like(output), (), seed=seed)
            elif request.repeated:
                repeats = _repeats(target, inputs, seed)
            else:
                written = _written(inputs, observed_call(target, inputs, seed=seed))
            settle(room)
    except (NoGradient, BackwardFailed) as lacking:
        return messages.Refused(Check("gradient", "", False, str(lacking)))
    except RuntimeError as error:
        if failed.is_poisoned(error):
            raise JobFailed(failed.failure_of(error)) from error
        raise
    names = tuple(sorted({name for name, origin in seen.runs}))
    return messages.Launched(names, repeats, tuple(lines), time.process_time() - began, rounds.most, written)


def _written(inputs: Inputs, seen: Observation) -> int:
    """The bytes of what a call returned, and those that it changed in its arguments."""
    given = inputs.tensors()
    changed = ((given[at], after) for at, after in seen.changed_inputs.items())
    return sum(one.numel() * one.element_size() for one in seen.results()) + sum(
        int((_bytes(one) != _bytes(other)).sum()) for one, other in changed if one.shape == other.shape
    )


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.detach().flatten().contiguous().view(torch.uint8)


def _repeats(target: Callable[..., Any], inputs: Inputs, seed: int) -> bool:
    """Whether a second call comes to the same, with NaN in fresh memory; not where there is nothing to compare.

    And further ones, where the interpreter takes other configurations of a tuned kernel. Raises whatever the first one raises.
    """
    made = _made(target, inputs, seed)
    with contextlib.suppress(Exception):  # the text's own, or those of tensors that are none of torch's
        if any(map(_has_poison, made)):  # which an earlier line may have left in what is fresh memory now
            with PoisonedAllocation(torch.Tensor.zero_):
                made = _made(target, inputs, seed)
        if not made or not _all_alike(made, _made(target, inputs, seed, poisoned=True)):
            return False
        return all(_all_alike(made, _made(target, inputs, seed, poisoned=True)) for _ in rounds.others())
    return False


def _made(target: Callable[..., Any], inputs: Inputs, seed: int, *, poisoned: bool = False) -> list[torch.Tensor]:
    """What one call returns, and the inputs that it changes."""
    seen = observed_call(target, inputs, seed=seed, poisoned=poisoned)
    return [*seen.results(), *seen.changed_inputs.values()]


def _all_alike(one: Sequence[torch.Tensor], other: Sequence[torch.Tensor]) -> bool:
    return len(one) == len(other) and all(map(_alike, one, other))


def _has_poison(tensor: torch.Tensor) -> bool:
    poison = poison_(torch.empty((), dtype=tensor.dtype, device=tensor.device))
    return bool((tensor.isnan() if bool(poison.isnan()) else tensor == poison).any())


def _alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    if not one.is_floating_point():
        return torch.equal(one, other)
    return torch.allclose(one.double(), other.double(), rtol=1e-2, atol=1e-2, equal_nan=True)
