"""One text in its own process, in the words of the gate and the clock: load, construct, observe, sample."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch

from kernelwright.proof.worker import triton_launchers
from kernelwright.proof.worker.answers.compare import same_bits
from kernelwright.proof.worker.attribution import outside
from kernelwright.proof.worker.attribution.outside import Outside
from kernelwright.proof.worker.attribution.work import Work
from kernelwright.proof.worker.bench import Bench, Rejected, Targets, uses_triton
from kernelwright.proof.worker.clock.late import Late
from kernelwright.proof.worker.clock.timing import FLUSHES
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.gate.backward import Flow
from kernelwright.proof.worker.gate.grounds import compiles
from kernelwright.proof.worker.hosts.messages import (
    Arm,
    CallInOrder,
    CallOften,
    Construct,
    Differentiate,
    Done,
    Fire,
    Gradients,
    InOrder,
    Load,
    Loaded,
    Look,
    Looked,
    Observe,
    Observed,
    Often,
    Reply,
    Request,
    Sampled,
    SetState,
    State,
    TooSmall,
)
from kernelwright.proof.worker.hosts.parcels import room_for
from kernelwright.proof.worker.hosts.remote import Host
from kernelwright.proof.worker.hosts.zygote import zygote
from kernelwright.proof.worker.inputs import Inputs, clone, clone_tensor
from kernelwright.proof.worker.observe import Observation
from kernelwright.proof.worker.reference.pair import state_of
from kernelwright.proof.worker.sandbox import caches
from kernelwright.proof.worker.subject import scratch_folder
from kernelwright.values import Check, Failure, FailureKind
from kernelwright.values.confinement import Confinement

T = TypeVar("T", bound=Reply)

_MANY_CALLS, _SMALL = 12, 64 << 20  # further calls before an output is looked at again, up to so many bytes of it
_AMPLE = 8 << 30  # bytes free on the GPU, after which small calls do not ask again
_LONGEST_CALLS = 3.0  # seconds, after which no more of them begin
_TIGHT = 6  # times the bytes of one call: less free memory than that is given back first
_LONGEST_WORDS = 200  # characters of a reason that comes from the text's own process
_MUCH_MORE = 4  # an answer of more than so many times the baseline's bytes is not one


class Contender:
    """A text in a fresh process, which loads it while the judge goes on; `construct`, the first use, waits for it.

    `confinement`: what keeps the text from the rest of the machine, once loaded. `compiled`: whether torch.compile was at
    work in what was observed, by the word of its process. All methods raise Rejected, JobFailed and
    Undecidable like Host.ask.
    """

    confinement: Confinement | None = None
    unbounded = ""
    compiled = False

    def __init__(self, bench: Bench, text: str, path: str = "") -> None:
        self._bench = bench
        self._text = text
        self._path = path or bench.trial.path
        self._waited = 0.0  # for processes that have ended
        self._largest_answer = 0  # bytes that an answer has taken where the baseline's would have taken less
        self._start()

    def _start(self) -> None:
        bench, text = self._bench, self._text
        self.confinement = None
        self._constructed: dict[int, str] = {}
        self._most_armed = 0  # bytes for which memory was left free
        self._seen_free = 0  # bytes that were free on the GPU at the last look
        self._armed = Fire(0)  # what the sample that is armed waits for
        self._scratch = tempfile.mkdtemp(prefix="kernelwright-host-")
        triton = bench.device == "cuda" and (uses_triton(text) or compiles(text))
        if triton:
            triton_launchers.take_note()
            triton_launchers.copy_to(caches.of_triton(Path(self._scratch)))  # before a line of the text has run
        self._host = Host(self._path, bench.device, triton=triton)
        request = Load(
            self._path,
            text,
            bench.device,
            bench.settings["torch.get_num_threads()"],
            bench.left,
            self._scratch,
            hidden=(str(scratch_folder()),),
            protected=(os.getpid(), os.getppid()),
        )
        try:
            self._host.tell(request)
        except BaseException:
            self.close()
            raise

    def answers_like(self, other: "Contender") -> None:
        """Be told how much room the answers of the same text took in another process."""
        self._largest_answer = other._largest_answer

    def start_again(self) -> None:
        """Go on in a new process, where this one's CUDA context is gone."""
        self.close()
        self._waited += self._host.waited
        self._start()

    @property
    def waited(self) -> float:
        """Seconds that the judge has waited for its answers."""
        return self._waited + self._host.waited

    @property
    def pid(self) -> int:
        return self._host.pid

    def give_back(self) -> None:
        """Free what the process keeps for later, and the memory that it shares with the judge."""
        self._host.give_back()

    def kill(self) -> None:
        """End the process without waiting until it is gone: of several, each goes while the others do."""
        self._host.kill()

    def close(self) -> None:
        """End the process and remove what it wrote."""
        self._host.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def has_answered(self) -> bool:
        """Whether the answer to what was asked last is there, or the text is loaded, without waiting."""
        return self._host.has_answered()

    def construct(self, targets: Targets) -> str:
        """Make the target that answers to `targets`, once, with the baseline's parameters; what was found in words."""
        self._wait_for_load()
        known = self._constructed.get(targets.number)
        if known is not None:
            return known
        is_module = isinstance(targets.baseline, torch.nn.Module)
        init, state = self._host.pack((targets.init.args, targets.init.kwargs), state_of(targets.baseline))
        request = Construct(
            targets.number,
            self._bench.trial.workload,
            init,
            State(is_module, is_module and targets.baseline.training, state),
            self._bench.trial.limits.first_seed,
            targets.seed_left,
        )
        self._constructed[targets.number] = self._ask(request, Done).words
        return self._constructed[targets.number]

    def set_state(self, targets: Targets, values: Mapping[str, torch.Tensor]) -> None:
        """Put these values into the target's parameters and buffers."""
        if values:
            (parcel,) = self._host.pack(dict(values))
            self._ask(SetState(targets.number, parcel), Done)

    def observe(
        self,
        targets: Targets,
        inputs: Inputs,
        like: Observation,
        *,
        case: str,
        seed: int,
        poisoned: bool = False,
        bounded: bool = False,
        calls: int = 1,
    ) -> Observation:
        """The last of `calls` on copies of `inputs`. The tensors of the answer are views, valid until the next request.

        With `bounded` another one between unmapped addresses: `unbounded` tells why that could not be, "" where it was.
        """
        self.construct(targets)
        expected = room_for(like.tensors()) + room_for(inputs.tensors()) + room_for(like.changed_state.values())
        sizes = tuple(t.numel() * t.element_size() for t in like.tensors())
        self._leave_free(_TIGHT * expected)
        request = lambda given: Observe(targets.number, given, case, seed, poisoned, sizes, bounded, calls)
        trees = ((inputs.args, inputs.kwargs),)
        observed, room = self._with_room(request, Observed, trees, expected, like.tensors(), case)
        self._largest_answer = max(self._largest_answer, room if room > expected else 0)
        self.unbounded = " ".join(observed.unbounded.split())[:_LONGEST_WORDS]
        self.compiled = observed.compiled
        self._same_settings(observed.settings, observed.added, "when called")
        self._clean(observed)
        return self._observation(observed, inputs, like)

    def call_often(
        self,
        targets: Targets,
        first: Inputs,
        second: Inputs,
        like: Observation,
        *,
        moving: bool,
        overwriting: bool,
        case: str,
        seed: int,
    ) -> tuple[tuple[list[torch.Tensor], ...], str]:
        """The tensors of a first output as they were, as they are after calls on other data, of the same call again, and
        with `moving` of one on the second data in the memory of the first. And in words how few calls there were, if slow.

        `overwriting`: the first output is written over before that of the same call is read.
        """
        self.construct(targets)
        trees = ((first.args, first.kwargs), (second.args, second.kwargs))
        told = [*like.tensors()] * (4 if moving else 3)
        times = _MANY_CALLS if room_for(like.tensors()) <= _SMALL else 1
        request = lambda one, two: CallOften(
            targets.number, one, two, times, _LONGEST_CALLS, moving, overwriting, case, seed
        )
        start = time.monotonic()
        often, _ = self._with_room(request, Often, trees, room_for(told), told, case)
        if often.made < times and time.monotonic() - start < _LONGEST_CALLS:
            raise Rejected(Check("alias", case, False, "its process made fewer further calls than it had time for"))
        words = (
            "" if often.made == times else f", after {often.made} further calls instead of {times}, as these are slow"
        )
        return tuple(map(self._host.read, (often.before, often.after, often.again, often.moved))), words

    def call_in_order(
        self, targets: Targets, inputs: Inputs, other: Inputs, like: Observation, *, case: str, seed: int
    ) -> list[torch.Tensor]:
        """The tensors of an output as work behind the call finds them, on inputs that come late where `other` were before."""
        self.construct(targets)
        trees = ((inputs.args, inputs.kwargs), (other.args, other.kwargs))
        request = lambda one, two: CallInOrder(targets.number, one, two, case, seed)
        reply, _ = self._with_room(request, InOrder, trees, room_for(like.tensors()), like.tensors(), case)
        return self._host.read(reply.output)

    def gradients(
        self,
        targets: Targets,
        inputs: Inputs,
        cotangents: Mapping[int, torch.Tensor],
        parameters: Sequence[str],
        like: Sequence[torch.Tensor],
        *,
        case: str,
        seed: int,
    ) -> Flow | str:
        """Those of the inputs that require grad, then of `parameters`, as views; or why it refuses such a call, in words.

        There are no tensors where no output that has a cotangent carries a gradient.
        """
        self.construct(targets)
        request = lambda given, sent: Differentiate(targets.number, given, sent, tuple(parameters), case, seed)
        trees = ((inputs.args, inputs.kwargs), dict(cotangents))
        reply, _ = self._with_room(request, Gradients, trees, room_for(like), like, case)
        if reply.lacking:
            return reply.lacking
        tensors = self._host.read(reply.tensors)
        if len(tensors) not in (0, len(like)) or not all(isinstance(t, torch.Tensor) for t in tensors):
            raise JobFailed(Failure(FailureKind.CRASHED, "The code's process lost its gradients."))
        return Flow(tuple(tensors), reply.unreached, reply.carried)

    def arm(
        self,
        targets: Targets,
        inputs: Inputs,
        like: Observation,
        *,
        seed: int,
        batch: int,
        late: tuple[Late, ...] = (),
        reuse: bool = False,
        copies: int = 0,
        flushes: int = FLUSHES,
    ) -> None:
        """Give it copies of `inputs` for the next sample: in fresh memory, or in the memory of the last sample.

        It learns `seed`, and what is `late` by it, when the sample is taken.
        `like` tells how much room the answer takes; `batch`, `copies`, `flushes`: see messages.Arm.
        """
        self.construct(targets)
        room = max(room_for(like.tensors()) + room_for(inputs.tensors()), self._largest_answer)
        room *= 2 if batch > 1 else 1  # two calls of it are told of
        if room > max(_SMALL, self._most_armed):  # asking takes longer than the rest of this, and little changes
            self._leave_free(2 * room)
            self._most_armed = room
        (parcel,) = self._host.pack((inputs.args, inputs.kwargs), room=room)
        self._ask(Arm(targets.number, parcel, batch, flushes, reuse, copies), Done)
        self._armed = Fire(seed, late)

    def fire(self) -> Sampled:
        """Take the sample that was armed."""
        self.begin_fire()
        return self.end_fire()

    def begin_fire(self) -> None:
        """Have the sample taken that was armed, without waiting."""
        self._host.tell(self._armed)

    def end_fire(self) -> Sampled:
        """The sample that was begun."""
        reply = self._host.hear()
        if isinstance(reply, TooSmall):
            detail = f"a timed call returned {reply.needed} bytes, which it did not when it was verified"
            raise Rejected(Check("recheck-after-timing", "while timing", False, detail))
        return _typed(reply, Sampled)

    def left(self, told: Observed, inputs: Inputs, like: Observation) -> Observation:
        """What a call of a sample left behind, copied out of the candidate's reach; `inputs`: as it was given them."""
        self._same_settings(told.settings, told.added, "while timing")
        self._clean(told)
        found = self._observation(told, inputs, like)
        return Observation(clone(found.output), {i: clone_tensor(t, 0) for i, t in found.changed_inputs.items()})

    def look(self, targets: Targets, inputs: Inputs, *, seed: int) -> tuple[Work, Outside]:
        """What one call does: by its own process's account, and what can be seen of it from here. After all timing."""
        self.construct(targets)
        pid = self._host.pid
        (parcel,) = self._host.pack((inputs.args, inputs.kwargs))
        request = Look(targets.number, parcel, self._path, self._text, seed, self._bench.interpreted)
        before = outside.company(pid, zygote().pid)
        looked = self._ask(request, Looked)
        helpers = outside.helpers(before, outside.company(pid, zygote().pid))
        binaries = outside.binaries(pid, self._scratch, Path(self._path).parent)
        return looked.work, Outside(helpers, binaries, outside.has_extension(pid, self._scratch))

    def _leave_free(self, size: int) -> None:
        """What the judge's own runs keep for later, the process may need now."""
        if self._bench.device != "cuda" or (size <= _SMALL and self._seen_free >= _AMPLE):
            return  # asking takes as long as a small call
        self._seen_free = torch.cuda.mem_get_info()[0]
        if self._seen_free < size:
            torch.cuda.empty_cache()

    def _wait_for_load(self) -> None:
        if self.confinement is None:
            loaded = _typed(self._host.hear(), Loaded)
            self.confinement = loaded.confinement
            self._same_settings(loaded.changed, loaded.added, "on import")

    def _observation(self, observed: Observed, inputs: Inputs, like: Observation) -> Observation:
        host = self._host
        output = host.output(observed.output, like.output)
        after = host.read(observed.inputs_after)
        originals = inputs.tensors()
        if len(after) != len(originals):
            words = f"The code's process told of {len(after)} inputs instead of {len(originals)}: it must not touch the judge."
            raise JobFailed(Failure(FailureKind.CRASHED, words))
        for index, tensor in enumerate(after):
            if not isinstance(tensor, torch.Tensor):
                raise Rejected(Check("inputs-unchanged", "all cases", False, _no_longer_plain(index, tensor)))
        changed = {
            i: t for i, (t, original) in enumerate(zip(after, originals, strict=True)) if not same_bits(t, original)
        }
        state = dict(zip(observed.state, host.read(tuple(observed.state.values())), strict=True))
        return Observation(output, changed, state, frozenset(observed.aliases), random=observed.random)

    def _with_room(
        self,
        request: Callable[..., Request],
        expected: type[T],
        trees: Sequence[Any],
        room: int,
        like: Sequence[torch.Tensor],
        case: str,
    ) -> tuple[T, int]:
        """The reply to `request` of the trees' parcels, and the bytes of room that it was given: `room`, or what it asked for.

        A tensor that the baseline has expanded may come with all of its elements. Far more than that raises Rejected.
        """
        most = _MUCH_MORE * (room + sum(t.numel() * t.element_size() for t in like)) + (1 << 20)
        while True:
            reply = self._host.ask(request(*self._host.pack(*trees, room=room)))
            if not isinstance(reply, TooSmall):
                return _typed(reply, expected), room
            if reply.needed > most:
                detail = f"it returns and changes {reply.needed} bytes, where the baseline's take {room}"
                raise Rejected(Check("shape", case, False, detail))
            room = reply.needed

    def _ask(self, request: Request, expected: type[T]) -> T:
        return _typed(self._host.ask(request), expected)

    def _same_settings(self, changed: tuple[str, ...], added: tuple[str, ...], when: str) -> None:
        """What the baseline changes as well is not held against it; new variables of the environment are told."""
        own = [words for words in changed if words not in self._bench.excused]
        if own:
            detail = f"{when} the candidate changes the process: {'; '.join(own)}"
            raise Rejected(Check("settings", "all cases", False, detail))
        new = f"it adds {', '.join(added)[:_LONGEST_WORDS]} to the environment"
        if added and new not in self._bench.notes and self._text == self._bench.trial.candidate:
            self._bench.notes.append(new)

    def _clean(self, observed: Observed) -> None:
        if observed.replaced:
            detail = f"{', '.join(observed.replaced)} was replaced, which the clock or the gate relies on"
            raise Rejected(Check("clean-process", "all cases", False, detail))


def _no_longer_plain(index: int, after: object) -> str:
    return (
        f"the call leaves input {index} as a {type(after).__name__}: set no attributes on an input, and leave its memory "
        "and layout as they are; keep what later calls need in the module"
    )


def _typed(reply: Reply, expected: type[T]) -> T:
    if isinstance(reply, expected):
        return reply
    words = f"The code's process answered with {type(reply).__name__} instead of {expected.__name__}."
    raise JobFailed(Failure(FailureKind.CRASHED, words))
