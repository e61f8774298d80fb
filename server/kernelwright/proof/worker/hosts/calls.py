"""Calls of the text that are looked at and not timed: one, several in a row, one with gradients, one under the profiler."""

import sys
import time
from dataclasses import replace

import torch

from kernelwright.proof.worker import flags, surroundings
from kernelwright.proof.worker.attribution.looking import look as look_at
from kernelwright.proof.worker.gate.backward import AddsItself, BackwardFailed, NoGradient, gradients
from kernelwright.proof.worker.hosts import bounds
from kernelwright.proof.worker.hosts.messages import (
    CallInOrder,
    CallOften,
    Differentiate,
    Gradients,
    InOrder,
    Look,
    Looked,
    Observe,
    Observed,
    Often,
    Refused,
    Reply,
    Returned,
)
from kernelwright.proof.worker.hosts.parcels import described, put
from kernelwright.proof.worker.hosts.room import Room, arena_of, inputs_of, settle, unpacked_as_sent
from kernelwright.proof.worker.inputs import Inputs, clone, moved_into, poison_, seed_everything, tensors_in
from kernelwright.proof.worker.observe import buffers_put_back
from kernelwright.proof.worker.observe import observe as observed_call
from kernelwright.proof.worker.poison import poison_freed_blocks
from kernelwright.values import Check

FEWEST_CALLS = 2  # further ones, however slow: what is kept in turns of two shows
_DELAY = 20_000_000  # cycles of the GPU's clock, some 10 ms: longer than any host takes to launch a call


def observe(room: Room, request: Observe) -> Reply:
    inputs = inputs_of(room, request.inputs)
    poison_freed_blocks(request.poison_sizes, room.device)
    target, seed = room.targets[request.key], request.seed
    seen = observed_call(target, inputs, seed=seed, poisoned=request.poisoned, calls=request.calls)
    tree, outputs = described(seen.output)
    after = [seen.changed_inputs.get(i, original) for i, original in enumerate(inputs.tensors())]
    names = list(seen.changed_state)
    sent = put([*outputs, *after, *(seen.changed_state[name] for name in names)], arena_of(room))
    settle(room)
    first, last = len(outputs), len(outputs) + len(after)
    observed = Observed(
        Returned(tree, sent[:first]),
        sent[first:last],
        dict(zip(names, sent[last:], strict=True)),
        tuple(sorted(seen.aliases)),
        tuple(surroundings.differences(room.settings, seen.settings)),
        tuple(flags.replaced_functions()),
        tuple(surroundings.added(room.settings, seen.settings)),
        seen.random,
        _compiled(),
    )
    if not request.bounded:
        return observed
    del seen, outputs, after
    why = bounds.look(target, inputs, case=request.case, seed=seed)
    return replace(observed, unbounded=why)


def _compiled() -> bool:
    """Whether torch.compile has made code of anything in this process."""
    dynamo = sys.modules.get("torch._dynamo.utils")
    return dynamo is not None and bool(dynamo.counters["frames"].get("ok"))


def call_often(room: Room, request: CallOften) -> Reply:
    target, first, second = room.targets[request.key], inputs_of(room, request.first), inputs_of(room, request.second)
    same = Inputs(clone(first.args), clone(first.kwargs))
    with buffers_put_back(target):
        seed_everything(request.seed)
        output = target(*first.args, **first.kwargs)
        settle(room)  # whether the answer is there without waiting is asked by call_in_order
        kept = [t.clone() for t in tensors_in(output)]
        made, start = 0, time.monotonic()
        while made < request.times and (made < FEWEST_CALLS or time.monotonic() - start < request.seconds):
            target(*clone(second.args), **clone(second.kwargs))
            made += 1
        after = [t.clone() for t in tensors_in(output)]  # the call below may put back what these calls have overwritten
    with buffers_put_back(target):
        seed_everything(request.seed)
        returned = target(*same.args, **same.kwargs)
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
            moved += tensors_in(target(*first.args, **first.kwargs))
    settle(room)
    sent = put([*kept, *after, *again, *moved], arena_of(room))
    settle(room)
    count, known = len(kept), 2 * len(kept) + len(again)
    return Often(sent[:count], sent[count : 2 * count], sent[2 * count : known], sent[known:], made)


def call_in_order(room: Room, request: CallInOrder) -> Reply:
    """A call that does not wait for the stream computes on the other data.

    It is made there once before, so that nothing is left to be set up, which may wait for the device.
    """
    target, inputs, given = room.targets[request.key], inputs_of(room, request.inputs), inputs_of(room, request.other)
    target(*given.args, **given.kwargs)
    settle(room)
    torch.cuda._sleep(_DELAY)
    moved_into(given, inputs)
    seed_everything(request.seed)
    output = target(*given.args, **given.kwargs)
    sent = put(list(tensors_in(output)), arena_of(room))  # on the same stream, without waiting for the device
    settle(room)
    return InOrder(sent)


def differentiate(room: Room, request: Differentiate) -> Reply:
    inputs, sent = inputs_of(room, request.inputs), unpacked_as_sent(room, request.cotangents)
    target = room.targets[request.key]
    try:
        found = gradients(target, inputs, lambda index, _: sent.get(index), request.parameters, seed=request.seed)
    except AddsItself as added:
        return Refused(Check("gradient", request.case, False, str(added)))
    except (NoGradient, BackwardFailed) as lacking:
        return Gradients(lacking=str(lacking))
    placed = put(found.tensors, arena_of(room))
    settle(room)
    return Gradients(placed, found.unreached, found.carried)


def look(room: Room, request: Look) -> Reply:
    target, inputs = room.targets[request.key], inputs_of(room, request.inputs)
    assert room.module is not None
    room.armed = None  # the memory of the last sample
    seed_everything(request.seed)
    call = lambda: target(*inputs.args, **inputs.kwargs)
    own, path, text = room.module, request.path, request.text
    return Looked(look_at(call, own, path, text, device=room.device, interpreted=request.interpreted))
