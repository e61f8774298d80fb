"""One text in its own process, in the words of the gate and the clock: load, construct, observe, sample."""

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from kernelwright.proof.worker import flags, surroundings, triton_launchers
from kernelwright.proof.worker.backward import Flow
from kernelwright.proof.worker.bench import Bench
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.free_memory import has_ample, has_free
from kernelwright.proof.worker.hosts import messages, outside
from kernelwright.proof.worker.hosts.outside import Outside
from kernelwright.proof.worker.hosts.parcels import room_for
from kernelwright.proof.worker.hosts.remote import Host, T
from kernelwright.proof.worker.hosts.zygote import zygote
from kernelwright.proof.worker.inputs import Inputs
from kernelwright.proof.worker.observe import Observation
from kernelwright.proof.worker.profiling.work import Work
from kernelwright.proof.worker.raised import scratch_folder
from kernelwright.proof.worker.ran import NOTHING
from kernelwright.proof.worker.reference.pair import state_of
from kernelwright.proof.worker.rejected import Rejected, Undecidable
from kernelwright.proof.worker.sandbox import caches
from kernelwright.proof.worker.targets import Targets
from kernelwright.proof.worker.tensors import may_be_written
from kernelwright.values import Failure, FailureKind
from kernelwright.values.confinement import Confinement

_MANY_CALLS, SMALL = 12, 64 << 20  # further calls before an output is looked at again, up to so many bytes of it
_LONGEST_CALLS = 3.0  # seconds, after which no more of them begin
_TIGHT = 6  # times the bytes of one call: less free memory than that is given back first
_LONGEST_WORDS = 200  # characters of a reason that comes from the text's own process
_MUCH_MORE = 4  # an answer of more than so many times the baseline's bytes is not one
_left: list["Contender"] = []  # killed, and not waited for yet


def bury() -> None:
    """Wait until processes that were left are gone: one with a CUDA context takes a while to end."""
    while _left:
        _left.pop().close()


class Contender(Host):
    """A text in a fresh process, which loads it while the judge goes on; `construct`, the first use, waits for it.

    `confinement`: what keeps the text from the rest of the machine, once loaded. `compiled`: whether torch.compile was at
    work in what was observed, by the word of its process. `sharing`: one of the same text, whose folder it writes to.
    `ran`: what of a text that is `watched` has run in calls that answered.
    All methods raise Rejected, JobFailed and Undecidable like Host.ask.
    """

    confinement: Confinement | None = None
    unbounded = ""
    compiled = False
    timed = False

    def __init__(
        self, bench: Bench, text: str, path: str = "", *, sharing: "Contender | None" = None, watched: bool = False
    ) -> None:
        super().__init__(path or bench.trial.path, bench.device)
        self._bench = bench
        self._text = text
        self._sharing = sharing
        self._watched = watched and not bench.language.compiles(text)  # torch.compile makes code of what it finds
        self.ran = NOTHING
        self._largest_answer = 0  # bytes that an answer has taken where the baseline's would have taken less
        self._begin()

    def _begin(self) -> None:
        bench, text = self._bench, self._text
        self.confinement = None
        self._constructed: dict[int, str] = {}
        self._scratch = self._sharing._scratch if self._sharing else tempfile.mkdtemp(prefix="kernelwright-host-")
        triton = bench.device == "cuda" and bench.language.needs_triton(text)
        if triton and self._sharing is None:
            triton_launchers.take_note()
            triton_launchers.copy_to(caches.of_triton(Path(self._scratch)))  # before a line of the text has run
        self.start(triton=triton)
        request = messages.Load(
            self.path,
            text,
            bench.trial.language,
            bench.device,
            bench.settings["torch.get_num_threads()"],
            bench.left,
            self._scratch,
            bench.interpreted,
            hidden=(str(scratch_folder()),),
            protected=(os.getpid(), os.getppid()),
            watched=self._watched,
            timed=self.timed,
        )
        try:
            self.tell(request, case="import")
        except BaseException:
            self.close()
            raise

    def hear(self, *expected: type[T]) -> T:
        """What needs a GPU that is not here is nobody's fault. Raises like Host.hear."""
        try:
            return super().hear(*expected)
        except JobFailed as failed:
            if failed.failure.kind is FailureKind.NO_GPU:
                raise Undecidable(failed.failure.message) from failed
            raise

    def start_again(self) -> None:
        """Go on in a new process, where this one's CUDA context is gone."""
        self.close()
        self._begin()

    @property
    def helped(self) -> float:
        """Seconds of processors that the processes which it has started have taken."""
        return outside.seconds(outside.company(self.pid, zygote().pid))

    def close(self) -> None:
        """End the process and remove what it wrote."""
        super().close()
        self._remove()

    def leave(self) -> None:
        """Kill the process and remove what it wrote; `bury` waits until it is gone, for which a verdict does not."""
        self.kill()
        self._remove()
        _left.append(self)
        if not has_ample(self._bench.device):
            bury()

    def _remove(self) -> None:
        if self._sharing is None:
            shutil.rmtree(self._scratch, ignore_errors=True)

    def construct(self, targets: Targets) -> str:
        """Make the target that answers to `targets`, once, with the baseline's parameters; what was found in words."""
        self._wait_for_load()
        known = self._constructed.get(targets.number)
        if known is not None:
            return known
        is_module = isinstance(targets.baseline, torch.nn.Module)
        init, state = self.pack((targets.init.args, targets.init.kwargs), state_of(targets.baseline))
        request = messages.Construct(
            targets.number,
            self._bench.trial.workload,
            init,
            is_module,
            is_module and targets.baseline.training,
            state,
            self._bench.trial.limits.first_seed,
            targets.seed_left,
        )
        done = self.ask(request, messages.Done, case="construction")
        self.ran |= done.ran
        self._constructed[targets.number] = done.words
        return done.words

    def set_state(self, targets: Targets, values: Mapping[str, torch.Tensor]) -> None:
        """Put these values into the target's parameters and buffers."""
        if values:
            (parcel,) = self.pack(dict(values))
            self.ask(messages.SetState(targets.number, parcel), messages.Done)

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
        attributes: Collection[str] = (),
    ) -> Observation:
        """The last of `calls` on copies of `inputs`. The tensors of the answer are views, valid until the next request.

        With `bounded` another one between unmapped addresses: `unbounded` tells why that could not be, "" where it was.
        """
        self.construct(targets)
        expected = room_for(like.tensors()) + room_for(inputs.tensors()) + room_for(like.changed_state.values())
        sizes = tuple(t.numel() * t.element_size() for t in like.tensors())
        expected += sum(sizes) + SMALL if attributes else 0  # a call that must not be made twice
        self._leave_free(_TIGHT * expected)
        request = lambda given: messages.Observe(
            targets.number, given, seed, poisoned, sizes, bounded, calls, tuple(attributes)
        )
        trees = ((inputs.args, inputs.kwargs),)
        if like.settings:  # what the baseline's call changes as well is not held against it
            own, evidence = self._bench.settings, self._bench.evidence
            evidence.excused.update(surroundings.differences(flags.in_a_call(own), like.settings))
        observed, room = self._with_room(request, messages.Observed, trees, expected, like.tensors(), case)
        self._largest_answer = max(self._largest_answer, room if room > expected else 0)
        self.unbounded = " ".join(observed.unbounded.split())[:_LONGEST_WORDS]
        self.compiled = observed.compiled
        self._bench.evidence.asks_for_gpu |= observed.asks_for_gpu
        self._clean(observed, "when called")
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
        times = _MANY_CALLS if room_for(like.tensors()) <= SMALL else 1
        request = lambda one, two: messages.CallOften(
            targets.number, one, two, times, _LONGEST_CALLS, moving, overwriting, seed
        )
        start = time.monotonic()
        often, _ = self._with_room(request, messages.Often, trees, room_for(told), told, case)
        if often.made < times and time.monotonic() - start < _LONGEST_CALLS:
            raise Rejected("alias", case, "its process made fewer further calls than it had time for")
        slow = f", after {often.made} further calls instead of {times}, as these are slow"
        answers = tuple(map(self.read, (often.before, often.after, often.again, often.moved)))
        return answers, "" if often.made == times else slow

    def call_in_order(
        self, targets: Targets, inputs: Inputs, other: Inputs, like: Observation, *, case: str, seed: int
    ) -> list[torch.Tensor]:
        """The tensors of an output as work behind the call finds them, on inputs that come late where `other` were before."""
        self.construct(targets)
        trees = ((inputs.args, inputs.kwargs), (other.args, other.kwargs))
        request = lambda one, two: messages.CallInOrder(targets.number, one, two, seed)
        reply, _ = self._with_room(request, messages.Returned, trees, room_for(like.tensors()), like.tensors(), case)
        return self.read(reply.tensors)

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
        request = lambda given, sent: messages.Differentiate(targets.number, given, sent, tuple(parameters), seed)
        trees = ((inputs.args, inputs.kwargs), dict(cotangents))
        reply, _ = self._with_room(request, messages.Gradients, trees, room_for(like), like, case)
        if reply.lacking:
            return reply.lacking
        tensors = self.read(reply.tensors)
        if len(tensors) not in (0, len(like)) or not all(isinstance(t, torch.Tensor) for t in tensors):
            raise JobFailed(Failure(FailureKind.CRASHED, "The code's process lost its gradients."))
        return Flow(tuple(tensors), reply.unreached, reply.carried)

    def look(self, targets: Targets, inputs: Inputs, *, seed: int) -> tuple[Work, Outside]:
        """What one call does: by its own process's account, and what can be seen of it from here. After all timing."""
        self.construct(targets)
        (parcel,) = self.pack((inputs.args, inputs.kwargs))
        request = messages.Look(targets.number, parcel, seed, self._bench.interpreted)
        before = outside.company(self.pid, zygote().pid)
        work = self.ask(request, Work)
        helpers = outside.helpers(before, outside.company(self.pid, zygote().pid))
        return work, Outside(helpers, *outside.loaded_code(self.pid, self._scratch, Path(self.path).parent))

    def _leave_free(self, size: int) -> None:
        """What the judge's own runs keep for later, the process may need now."""
        if self._bench.device == "cuda" and not has_free("cuda", size + torch.cuda.memory_reserved()):
            torch.cuda.empty_cache()

    def _wait_for_load(self) -> None:
        if self.confinement is None:
            loaded = self.hear(messages.Loaded)
            self.confinement = loaded.confinement
            self._same_settings(loaded.changed, loaded.added, "on import")

    def _observation(self, observed: messages.Observed, inputs: Inputs, like: Observation) -> Observation:
        output = self.output(observed.output, like.output)
        after = self.read(observed.inputs_after)
        originals = inputs.tensors()
        if len(after) != len(originals):
            words = f"The code's process told of {len(after)} inputs instead of {len(originals)}: it must not touch the judge."
            raise JobFailed(Failure(FailureKind.CRASHED, words))
        for index, tensor in enumerate(after):
            if not isinstance(tensor, torch.Tensor):
                detail = (
                    f"the call leaves input {index} as a {type(tensor).__name__}: set no attributes on an input, and leave its "
                    "memory and layout as they are; keep what later calls need in the module"
                )
                raise Rejected("inputs-unchanged", "all cases", detail)
        changed = {
            i: t for i, (t, original) in enumerate(zip(after, originals, strict=True)) if may_be_written(t, original)
        }
        state = dict(zip(observed.state, self.read(tuple(observed.state.values())), strict=True))
        return Observation(output, changed, state, frozenset(observed.aliases), random=observed.random)

    def _with_room(
        self,
        request: Callable[..., messages.Request],
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
            reply = self.ask(request(*self.pack(*trees, room=room)), expected, messages.TooSmall, case=case)
            if not isinstance(reply, messages.TooSmall):
                self.ran |= getattr(reply, "ran", NOTHING)
                return reply, room
            if reply.needed > most:
                detail = f"it returns and changes {reply.needed} bytes, where the baseline's take {room}"
                raise Rejected("shape", case, detail)
            room = reply.needed

    def _same_settings(self, changed: tuple[str, ...], added: tuple[str, ...], when: str) -> None:
        """What the baseline changes as well is not held against it; new variables of the environment are told."""
        own = [words for words in changed if words not in self._bench.evidence.excused]
        if own:
            detail = f"{when} the candidate changes the process: {'; '.join(own)}"
            raise Rejected("settings", "all cases", detail)
        if added and self._text == self._bench.trial.candidate:
            self._bench.evidence.notes.append(f"it adds {', '.join(added)[:_LONGEST_WORDS]} to the environment")

    def _clean(self, observed: messages.Observed, when: str) -> None:
        self._same_settings(observed.settings, observed.added, when)
        if observed.replaced:
            detail = f"{', '.join(observed.replaced)} was replaced, which the clock or the gate relies on"
            raise Rejected("clean-process", "all cases", detail)
