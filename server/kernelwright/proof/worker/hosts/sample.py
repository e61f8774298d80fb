"""One timed sample in the host: armed with fresh copies of the inputs, fired, and what its last call left behind."""

import gc
import itertools
from dataclasses import replace

import torch

from kernelwright.proof.worker import flags
from kernelwright.proof.worker.hosts.messages import Arm, Done, Fire, Observed, Part, Reply, Returned, Sampled
from kernelwright.proof.worker.hosts.parcels import described, put, view
from kernelwright.proof.worker.hosts.room import Armed, Room, arena_of, inputs_of, settle
from kernelwright.proof.worker.inputs import Inputs, clone, moved_into, seed_everything
from kernelwright.proof.worker.timing import Contestant, clock_for, one_sample

_SHORT_MS = 1.0
_copy, _narrow, _detach = torch.Tensor.copy_, torch.Tensor.narrow, torch.Tensor.detach


def limber_up(room: Room) -> None:
    """Make the CUDA context and what a sample needs of torch's own, whose code is loaded when it is first used."""
    if room.device == "cuda":
        room.clock = clock_for(room.device)
        one_sample(Contestant(lambda: None), 1, room.clock)
        seed_everything(0)
        settle(room)


def arm(room: Room, request: Arm) -> Reply:
    """Fresh copies at other addresses than last time: what the last sample used is freed only afterwards."""
    room.returned = None
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
    copies = [inputs] + [Inputs(clone(inputs.args), clone(inputs.kwargs)) for _ in range(more)]
    target = room.targets[request.key]
    room.armed, room.returned = Armed(target, copies, request.batch, request.flushes), None
    if room.clock is None:
        room.clock = clock_for(room.device)
    if before is not None:
        target(*before.args, **before.kwargs)
        settle(room)
    return Done()


def fire(room: Room, request: Fire) -> Reply:
    assert room.armed is not None
    assert room.clock is not None
    target, copies = room.armed.target, room.armed.copies
    todo = itertools.cycle(copies)

    def call() -> None:
        given = next(todo)
        room.returned = target(*given.args, **given.kwargs)

    clock = replace(room.clock, flushes=room.armed.flushes)
    seed_everything(request.seed)
    _bring(room, request.late)
    ms, residual, hidden = one_sample(Contestant(call), room.armed.batch, clock)
    if room.armed.batch == len(copies):
        room.last_ms = ms
    return Sampled(ms, residual, hidden, _left(room, copies[(room.armed.batch - 1) % len(copies)]))


def _bring(room: Room, late: tuple[Part, ...]) -> None:
    """Change the armed inputs, by functions that were taken before the text ran: nothing of it shall run in between."""
    assert room.armed is not None
    contents = [view(part.content, arena_of(room), room.device) for part in late]
    for copy in room.armed.copies:
        tensors = copy.tensors()
        for part, content in zip(late, contents, strict=True):
            _copy(_narrow(_detach(tensors[part.index]), part.dim, part.start, content.shape[part.dim]), content)
    settle(room)


def _left(room: Room, given: Inputs) -> Observed:
    """What the last call of a sample returned, and what it left of its inputs."""
    tree, outputs = described(room.returned)
    sent = put([*outputs, *given.tensors()], arena_of(room))
    settle(room)
    changed = tuple(flags.differences(room.settings, flags.read()))
    first = len(outputs)
    return Observed(
        Returned(tree, sent[:first]), sent[first:], settings=changed, replaced=tuple(flags.replaced_functions())
    )
