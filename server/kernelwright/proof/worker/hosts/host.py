"""The process that one text runs in: loads it, constructs its targets, calls them on copies of the judge's inputs.

What is measured and reported here shares its address space with the text; the judge checks from outside whatever it can.
"""

import faulthandler
import gc
import itertools
import math
import os
import signal
import socket
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from kernelwright.proof.worker import flags, lifetime
from kernelwright.proof.worker.backward import BackwardFailed, NoGradient, gradients
from kernelwright.proof.worker.bench import Rejected, load_candidate, rejection
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.hosts import channel
from kernelwright.proof.worker.hosts.arena import OpenedArena, open_arena
from kernelwright.proof.worker.hosts.messages import (
    Arm,
    CallOften,
    Construct,
    Differentiate,
    Done,
    Failed,
    Fire,
    GiveBack,
    Gradients,
    Load,
    Loaded,
    Look,
    Looked,
    Observe,
    Observed,
    Often,
    Refused,
    Reply,
    Request,
    Returned,
    Sampled,
    SetState,
    TooSmall,
    UseArena,
)
from kernelwright.proof.worker.hosts.parcels import DoesNotFit, Parcel, described, filled, put, view
from kernelwright.proof.worker.inputs import Inputs, clone, clone_tensor, seed_everything, tensors_in
from kernelwright.proof.worker.looking import look
from kernelwright.proof.worker.observe import named_state, observe
from kernelwright.proof.worker.pair import Mismatch, take_parameters, target_of
from kernelwright.proof.worker.poison import poison_freed_blocks
from kernelwright.proof.worker.sandbox import fence
from kernelwright.proof.worker.timing import Clock, Contestant, clock_for, one_sample
from kernelwright.values import Check

_SHORT_MS = 1.0


@dataclass(frozen=True)
class Armed:
    """A sample to be taken: `batch` calls of the target, on the copies of its inputs in turn."""

    target: Any
    copies: list[Inputs]
    batch: int


@dataclass
class Room:
    """What one host works with."""

    descriptor: int
    device: str = "cpu"
    module: ModuleType | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    targets: dict[int, Any] = field(default_factory=dict)
    arena: OpenedArena | None = None
    clock: Clock | None = None
    armed: Armed | None = None
    last_ms: float = math.inf
    returned: Any = None


def main(descriptor: int, printing: int, parent: int) -> None:
    """Serve requests on the socket `descriptor` until the judge closes it. Prints go to `printing`."""
    os.setpgid(0, 0)
    lifetime.die_with(parent)
    os.dup2(printing, 1)
    os.dup2(printing, 2)
    os.close(printing)
    os.set_inheritable(descriptor, False)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    faulthandler.enable()
    lifetime.keep_freed_memory()
    own = os.getpid()
    pipe, room = socket.socket(fileno=descriptor), Room(descriptor)
    while (received := channel.receive_request(pipe)) is not None:
        reply = answer(room, *received)
        if os.getpid() != own:
            os._exit(0)  # a child that the text forked, and that came back up the stack
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except (OSError, ValueError, AttributeError):
                continue  # the text may have closed or replaced it
        channel.send_reply(pipe, reply)


def answer(room: Room, request: Request, descriptor: int | None) -> Reply:
    """The reply to one request; whatever the text raises becomes a Refused check."""
    try:
        with torch.no_grad():
            return _answer(room, request, descriptor)
    except Rejected as rejected:
        return Refused(rejected.check)
    except JobFailed as failed:
        return Failed(failed.failure)
    except DoesNotFit as full:
        return TooSmall(full.needed)
    except (Exception, SystemExit, KeyboardInterrupt) as error:  # noqa: BLE001  (the text raises anything; typed here)
        return Refused(rejection(error, getattr(request, "case", "while timing")).check)


def _answer(room: Room, request: Request, descriptor: int | None) -> Reply:
    match request:
        case Load():
            return _load(room, request)
        case UseArena(handle=handle):
            room.arena = open_arena(handle, descriptor)
            return Done()
        case GiveBack():
            return _give_back(room)
        case Construct():
            return _construct(room, request)
        case SetState(key=key, tensors=parcel):
            state = named_state(room.targets[key])
            for name, value in _unpacked(room, parcel).items():
                if name in state:
                    state[name].copy_(value)
            return Done()
        case Observe():
            return _observe(room, request)
        case CallOften():
            return _call_often(room, request)
        case Differentiate():
            return _differentiate(room, request)
        case Arm():
            return _arm(room, request)
        case Fire():
            return _fire(room)
        case Look():
            return _look(room, request)


def _load(room: Room, request: Load) -> Reply:
    confinement = fence.confine(
        request.scratch,
        readable=[Path(request.path).resolve().parent],
        hidden=request.hidden,
        descriptors=[room.descriptor],
        protected=request.protected,
        ipc=request.device == "cuda",
    )
    # Under the default settings, like the baseline: a text that asks for others itself, or no longer does, is found out.
    torch.set_num_threads(request.settings["torch.get_num_threads()"])
    room.device, room.settings = request.device, dict(request.settings)
    room.module = load_candidate(request.path, request.text)
    changed = flags.differences(request.settings, flags.read())
    flags.write(request.settings)
    _settle(room)  # makes the CUDA context, while the judge does other work
    return Loaded(confinement, tuple(changed))


def _give_back(room: Room) -> Reply:
    room.armed = room.returned = None
    if room.arena is not None:
        room.arena.close()
        room.arena = None
    gc.collect()
    if room.device == "cuda":
        torch.cuda.empty_cache()
    return Done()


def _construct(room: Room, request: Construct) -> Reply:
    init = _inputs(room, request.init)
    try:
        target = target_of(room.module, request.workload, init, device=room.device, seed=request.seed)
    except JobFailed as failed:
        return Refused(Check("runs", "construction", False, failed.failure.message))
    parcel = request.state.tensors
    tensors = _unpacked(room, parcel) if parcel is not None else {}
    given = take_parameters(target, request.state.is_module, request.state.training, tensors)
    if isinstance(given, Mismatch):
        return Refused(Check("parameters", "construction", False, given.detail))
    room.targets[request.key] = target
    return Done(given)


def _observe(room: Room, request: Observe) -> Reply:
    inputs = _inputs(room, request.inputs)
    poison_freed_blocks(request.poison_sizes, room.device)
    seen = observe(room.targets[request.key], inputs, seed=request.seed, poisoned=request.poisoned)
    tree, outputs = described(seen.output)
    after = [seen.changed_inputs.get(i, original) for i, original in enumerate(inputs.tensors())]
    names = list(seen.changed_state)
    sent = put([*outputs, *after, *(seen.changed_state[name] for name in names)], _arena(room))
    _settle(room)
    first, last = len(outputs), len(outputs) + len(after)
    return Observed(
        Returned(tree, sent[:first]),
        sent[first:last],
        dict(zip(names, sent[last:], strict=True)),
        tuple(sorted(seen.aliases)),
        tuple(flags.differences(room.settings, flags.read())),
        tuple(flags.replaced_functions()),
    )


def _call_often(room: Room, request: CallOften) -> Reply:
    target, first, second = room.targets[request.key], _inputs(room, request.first), _inputs(room, request.second)
    same = Inputs(clone(first.args), clone(first.kwargs))
    seed_everything(request.seed)
    output = target(*first.args, **first.kwargs)
    kept = [t.clone() for t in tensors_in(output)]
    for _ in range(request.times):
        target(*clone(second.args), **clone(second.kwargs))
    after = [t.clone() for t in tensors_in(output)]  # the call below may put back what these calls have overwritten
    seed_everything(request.seed)
    again = target(*same.args, **same.kwargs)
    _settle(room)
    sent = put([*kept, *after, *tensors_in(again)], _arena(room))
    _settle(room)
    count = len(kept)
    return Often(sent[:count], sent[count : 2 * count], sent[2 * count :])


def _differentiate(room: Room, request: Differentiate) -> Reply:
    inputs, sent = _inputs(room, request.inputs), _unpacked(room, request.cotangents)
    target = room.targets[request.key]
    try:
        found = gradients(target, inputs, lambda index, _: sent.get(index), request.parameters, seed=request.seed)
    except NoGradient as lacking:
        return Gradients((), lacking=str(lacking))
    except BackwardFailed as failed:
        return Refused(Check("gradient", request.case, False, str(failed)))
    placed = put(found.tensors, _arena(room))
    _settle(room)
    return Gradients(placed, found.unreached)


def _arm(room: Room, request: Arm) -> Reply:
    """Fresh copies at other addresses than last time: what the last sample used is freed only afterwards."""
    room.returned = None
    if gc.isenabled():
        gc.collect()
        gc.disable()  # no collection within a sample, nor one whose turn depends on what ran before
        if room.device == "cuda":
            torch.cuda.empty_cache()  # what the gate's calls have left would be missing elsewhere
    if room.last_ms >= _SHORT_MS and not request.reuse:
        room.armed = None  # large inputs are not held twice
    inputs = _inputs(room, request.inputs)
    if request.reuse and room.armed is not None:
        inputs = _moved_into(room.armed.copies[-1], inputs)
    # Nothing has run here while the others were timed: a short call would be timed on cold code.
    short = room.last_ms < _SHORT_MS and room.armed is not None and not request.reuse
    before = room.armed.copies[0] if short else None
    more = (request.copies or request.batch) - 1
    copies = [inputs] + [Inputs(clone(inputs.args), clone(inputs.kwargs)) for _ in range(more)]
    target = room.targets[request.key]
    room.armed, room.returned = Armed(target, copies, request.batch), None
    if room.clock is None:
        room.clock = clock_for(room.device)
    if before is not None:
        target(*before.args, **before.kwargs)
        _settle(room)
    seed_everything(request.seed)
    return Done()


def _moved_into(old: Inputs, new: Inputs) -> Inputs:
    """The old tensors with the new contents: neither address, shape nor version tells a cache that they changed."""
    for tensor, value in zip(old.tensors(), new.tensors(), strict=True):
        tensor.data.copy_(value)
    return old


def _fire(room: Room) -> Reply:
    assert room.armed is not None
    assert room.clock is not None
    target, copies = room.armed.target, room.armed.copies
    todo = itertools.cycle(copies)

    def call() -> None:
        given = next(todo)
        room.returned = target(*given.args, **given.kwargs)

    ms, residual = one_sample(Contestant(call), room.armed.batch, room.clock)
    if room.armed.batch == len(copies):
        room.last_ms = ms
    return Sampled(ms, residual, _left(room, copies[(room.armed.batch - 1) % len(copies)]))


def _left(room: Room, given: Inputs) -> Observed:
    """What the last call of a sample returned, and what it left of its inputs."""
    tree, outputs = described(room.returned)
    sent = put([*outputs, *given.tensors()], _arena(room))
    _settle(room)
    changed = tuple(flags.differences(room.settings, flags.read()))
    first = len(outputs)
    return Observed(
        Returned(tree, sent[:first]), sent[first:], settings=changed, replaced=tuple(flags.replaced_functions())
    )


def _look(room: Room, request: Look) -> Reply:
    target, inputs = room.targets[request.key], _inputs(room, request.inputs)
    assert room.module is not None
    room.armed = room.returned = None  # the memory of the last sample
    seed_everything(request.seed)
    call = lambda: target(*inputs.args, **inputs.kwargs)
    own, path, text = room.module, request.path, request.text
    return Looked(look(call, own, path, text, device=room.device, interpreted=request.interpreted))


def _inputs(room: Room, parcel: Parcel) -> Inputs:
    """Arguments with memory of their own."""
    args, kwargs = _unpacked(room, parcel)
    return Inputs(args, kwargs)


def _unpacked(room: Room, parcel: Parcel) -> Any:
    tensors = [
        clone_tensor(view(one, _arena(room), room.device)).requires_grad_(one.requires_grad) for one in parcel.tensors
    ]
    return filled(parcel.tree, tensors)


def _arena(room: Room) -> torch.Tensor:
    if room.arena is None:
        room.arena = OpenedArena(torch.empty(0, dtype=torch.uint8))
    return room.arena.bytes


def _settle(room: Room) -> None:
    if room.device == "cuda":
        torch.cuda.synchronize()
