"""The process that one text runs in: loads it, constructs its targets, calls them on copies of the judge's inputs.

What is measured and reported here shares its address space with the text; the judge checks from outside whatever it can.
"""

import contextlib
import faulthandler
import gc
import os
import signal
import socket
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from kernelwright.proof.worker import flags, lifetime, ran, surroundings, tuning, without_gpu
from kernelwright.proof.worker.construct import load_candidate
from kernelwright.proof.worker.ended import BROKEN
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.hosts import calls, channel, constructors, messages, sample
from kernelwright.proof.worker.hosts.arena import open_arena
from kernelwright.proof.worker.hosts.parcels import DoesNotFit
from kernelwright.proof.worker.hosts.room import Room, inputs_of, no_arena, unpacked
from kernelwright.proof.worker.inputs import seed_everything
from kernelwright.proof.worker.languages import language_of
from kernelwright.proof.worker.observe import named_state, put_back
from kernelwright.proof.worker.raised import describe
from kernelwright.proof.worker.reference.pair import Mismatch, take_parameters
from kernelwright.proof.worker.rejected import Rejected, rejection
from kernelwright.proof.worker.sandbox import fence
from kernelwright.proof.worker.subject import make_target
from kernelwright.values import Check


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
    gc.disable()  # from the first call on: a text must not be able to tell timed calls by it
    own = os.getpid()
    pipe, room = socket.socket(fileno=descriptor), Room(descriptor)
    try:
        while (received := channel.receive_request(pipe)) is not None:
            reply = answer(room, *received)
            if os.getpid() != own:
                os._exit(0)  # a child that the text forked, and that came back up the stack
            lifetime.flush_prints()
            _send(pipe, reply)
            if not isinstance(received[0], messages.Arm | messages.Fire):
                gc.collect(1)  # what has been made since the last time, while the judge goes on
    except BaseException:
        if room.module is None:
            raise  # no line of the text has run
        with contextlib.suppress(BaseException):
            traceback.print_exc()
        os._exit(BROKEN)


def answer(room: Room, request: messages.Request, descriptor: int | None) -> messages.Reply:
    """The reply to one request; whatever the text raises becomes a Refused check."""
    try:
        with torch.no_grad():
            room.received = descriptor
            reply = _ANSWERS[type(request)](room, request)
            seen = ran.taken()
            return replace(reply, ran=seen) if seen != ran.NOTHING and hasattr(reply, "ran") else reply
    except Rejected as rejected:
        return messages.Refused(rejected.check)
    except JobFailed as failed:
        return messages.Failed(failed.failure)
    except DoesNotFit as full:
        return messages.TooSmall(full.needed)
    except BaseException as error:  # noqa: BLE001  (the text raises anything; typed here)
        return messages.Refused(_raised(error))
    finally:
        ran.taken()  # what raised is no evidence


def _raised(error: BaseException) -> Check:
    """The failed check for what the text raised, also where looking at that raises."""
    try:
        return rejection(error, "").check
    except BaseException:  # noqa: BLE001  (such as the text's own `__str__`)
        return Check("runs", "", False, f"raises {type(error).__name__}, and telling what that says raises as well")


def _send(pipe: socket.socket, reply: messages.Reply) -> None:
    """Send the reply, or a failed check where JSON has no form for it: whole numbers of thousands of digits, deep trees."""
    try:
        channel.send_reply(pipe, reply)
    except (ValueError, TypeError, RecursionError) as error:
        detail = f"returns what cannot be sent to another process: {describe(error)}"
        channel.send_reply(pipe, messages.Refused(Check("runs", "", False, detail)))


def _use_arena(room: Room, request: messages.UseArena) -> messages.Reply:
    room.arena = open_arena(request.handle, room.received)
    return messages.Done()


def _set_state(room: Room, request: messages.SetState) -> messages.Reply:
    put_back(named_state(room.targets[request.key]), unpacked(room, request.tensors))
    return messages.Done()


def _load(room: Room, request: messages.Load) -> messages.Reply:
    confinement = fence.confine(
        request.scratch,
        beside=Path(request.path).resolve().parent,
        hidden=request.hidden,
        descriptors=[room.descriptor],
        protected=request.protected,
        ipc=request.device == "cuda",
    )
    # Under the default settings, like the baseline: a text that asks for others itself, or no longer does, is found out.
    torch.set_num_threads(request.threads)
    room.device, room.path, room.text, room.language = request.device, request.path, request.text, request.language
    language = language_of(request.language)
    without_gpu.begin(request.interpreted and language.needs_interpreter)
    with torch.enable_grad():  # as where it is imported otherwise
        seed_everything(flags.IMPORT_SEED)
        expected, seeds = surroundings.changed_by(flags.read(), request.left), flags.seeds()
        if request.watched:
            ran.watch()
        room.module = load_candidate(language, request.path, request.text)
        if request.device == "cuda" and not request.timed:
            tuning.choose_once()
        ran.look_at_kernels(room.module.__file__ or "")
        found = flags.read()
        own = {name: value for name, value in seeds.items() if name not in request.left}
        changed = surroundings.differences(expected | own, found | flags.seeds())
        flags.write(expected)
    room.settings = flags.in_a_call(expected)
    sample.limber_up(room)  # while the judge does other work
    return messages.Loaded(confinement, tuple(changed), tuple(surroundings.added(expected, found)))


def _give_back(room: Room, request: messages.GiveBack) -> messages.Reply:
    room.armed = None
    room.arena.close()
    room.arena = no_arena()
    gc.collect()
    if room.device == "cuda":
        torch.cuda.empty_cache()
    return messages.Done()


def _construct(room: Room, request: messages.Construct) -> messages.Reply:
    init = inputs_of(room, request.init)
    try:
        target = make_target(room.module, request.workload, init, device=room.device, seed=request.seed)
    except JobFailed as failed:
        return messages.Refused(Check("runs", "", False, failed.failure.message))
    if request.is_module and torch.initial_seed() != request.seed_left:
        return messages.Refused(Check("random-state", "", False, "the constructor seeds torch's generator"))
    given = take_parameters(target, request.is_module, request.training, unpacked(room, request.state))
    if isinstance(given, Mismatch):
        return messages.Refused(Check("parameters", "", False, given.detail))
    room.targets[request.key] = target
    return messages.Done(given)


_ANSWERS: dict[type, Callable[[Room, Any], messages.Reply]] = {
    messages.Load: _load,
    messages.UseArena: _use_arena,
    messages.GiveBack: _give_back,
    messages.Construct: _construct,
    messages.SetState: _set_state,
    messages.Observe: calls.observe,
    messages.Attempt: calls.attempt,
    messages.CallOften: calls.call_often,
    messages.CallInOrder: calls.call_in_order,
    messages.Differentiate: calls.differentiate,
    messages.Arm: sample.arm,
    messages.Fire: sample.fire,
    messages.Look: calls.look,
    messages.Try: calls.try_line,
    messages.Constructor: constructors.definition,
}
