"""One timed sample in the host: armed with fresh copies of the inputs, fired, and what its last call left behind."""

import gc
import itertools
import time
from dataclasses import replace
from typing import Any

import torch

from kernelwright.proof.worker import flags, surroundings
from kernelwright.proof.worker.hosts.messages import Arm, Done, Fire, Observed, Reply, Returned, Sampled
from kernelwright.proof.worker.hosts.parcels import described
from kernelwright.proof.worker.hosts.room import Armed, Room, inputs_of, settle, told
from kernelwright.proof.worker.inputs import Inputs, moved_into, seed_everything
from kernelwright.proof.worker.observe import buffers_of, named_state, put_back
from kernelwright.proof.worker.timing.late import change
from kernelwright.proof.worker.timing.timer import Contestant, clock_for, one_sample

_SHORT_MS = 1.0
_now = time.perf_counter_ns


def limber_up(room: Room) -> None:
    """Make the CUDA context and what a sample needs of torch's own, whose code is loaded when it is first used."""
    room.clock = clock_for(room.device)
    if room.device == "cuda":
        one_sample(Contestant(lambda: None), 1, room.clock)
        seed_everything(0)
        settle(room)


def arm(room: Room, request: Arm) -> Reply:
    """Fresh copies at other addresses than last time: what the last sample used is freed only afterwards."""
    gc.disable()  # the text may have switched it on: no collection within a sample, whatever ran before
    if not room.collected:
        room.collected = True
        gc.collect()
        if room.device == "cuda":
            torch.cuda.empty_cache()  # what the gate's calls have left would be missing elsewhere
    if room.last_ms >= _SHORT_MS and not request.reuse:
        room.armed = None  # large inputs are not held twice
    inputs = inputs_of(room, request.inputs)
    if request.reuse and room.armed is not None:
        inputs = moved_into(room.armed.copies[-1], inputs)
    # Nothing has run here while the others were timed: a short call would be timed on cold code.
    short = room.last_ms < _SHORT_MS and room.armed is not None and not request.reuse
    before = room.armed.copies[0] if short else None
    more = (request.copies or request.batch) - 1
    copies = [inputs] + [inputs.copied() for _ in range(more)]
    target = room.targets[request.key]
    if request.key not in room.buffers:
        room.buffers[request.key] = buffers_of(target)
    room.armed = Armed(target, copies, request.batch, request.flushes)
    if before is not None:
        target(*before.args, **before.kwargs)
    # Every sample begins with the same state, as the judge's calls do.
    put_back(named_state(target), room.buffers[request.key])
    settle(room)
    return Done()


def fire(room: Room, request: Fire) -> Reply:
    """The answers die with this call, before the reply: what a text does then is seen by the judge's clock."""
    assert room.armed is not None
    assert room.clock is not None
    target, copies, batch = room.armed.target, room.armed.copies, room.armed.batch
    todo = itertools.cycle(copies)
    last: Any = None
    before: Any = None
    number = which = 0

    def call() -> None:
        nonlocal last
        given = next(todo)
        last = target(*given.args, **given.kwargs)

    def call_and_keep() -> None:
        """Of the calls but the last each is kept in the end with the same chance, which the nanoseconds decide behind it."""
        nonlocal number, which, before
        call()
        number += 1
        if number < batch and _now() % number == 0:
            which, before = number, last

    clock = replace(room.clock, flushes=room.armed.flushes)
    seed_everything(request.seed)
    _bring(room, request)
    ms, residual, hidden = one_sample(Contestant(call_and_keep if batch > 1 else call), batch, clock)
    if batch == len(copies):
        room.last_ms = ms
    given = lambda number: copies[(number - 1) % len(copies)]
    if batch == 1:
        return Sampled(ms, residual, hidden, *_left(room, (last, given(batch))))
    return Sampled(ms, residual, hidden, *_left(room, (last, given(batch)), (before, given(which))), which)


def _bring(room: Room, request: Fire) -> None:
    """Change the armed inputs by the seed (see timing/late.py). What a text brings about in here is on the judge's clock."""
    assert room.armed is not None
    tensors = [copy.tensors() for copy in room.armed.copies]
    for late in request.late:
        found = change(tensors[0][late.index], late, request.seed, len(tensors))
        for copy, own in enumerate(tensors):
            found.put(own[late.index], copy)
    settle(room)


def _left(room: Room, *calls: tuple[Any, Inputs]) -> list[Observed]:
    """What calls of a sample returned, and what they left of their inputs."""
    trees = [(*described(returned), given.tensors()) for returned, given in calls]
    sent = iter(told(room, [t for _, outputs, inputs in trees for t in (*outputs, *inputs)]))
    changed = tuple(surroundings.differences(room.settings, flags.read(short=True)))
    replaced = tuple(flags.replaced_functions())
    return [
        Observed(
            Returned(tree, tuple(itertools.islice(sent, len(outputs)))),
            tuple(itertools.islice(sent, len(inputs))),
            settings=changed,
            replaced=replaced,
        )
        for tree, outputs, inputs in trees
    ]
