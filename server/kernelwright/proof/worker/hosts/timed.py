"""One text in its own process, as the clock calls it: armed with data, fired, and what the sample left behind."""

from kernelwright.proof.worker.bench import Bench
from kernelwright.proof.worker.hosts.contender import SMALL, Contender
from kernelwright.proof.worker.hosts.messages import Arm, Done, Fire, Observed, Sampled, TooSmall
from kernelwright.proof.worker.hosts.parcels import room_for
from kernelwright.proof.worker.inputs import Inputs, clone_tensor, map_tensors
from kernelwright.proof.worker.observe import Observation
from kernelwright.proof.worker.rejected import Rejected
from kernelwright.proof.worker.targets import Targets
from kernelwright.proof.worker.timing.late import Late
from kernelwright.proof.worker.timing.timer import FLUSHES


class TimedContender(Contender):
    """A contender whose samples are taken. All methods raise like Host.ask."""

    timed = True

    def __init__(self, bench: Bench, text: str, path: str) -> None:
        self._most_armed = 0  # bytes for which memory was left free
        self._armed = Fire(0)  # what the sample that is armed waits for
        super().__init__(bench, text, path)

    def answers_like(self, other: Contender) -> None:
        """Be told how much room the answers of the same text took in another process."""
        self._largest_answer = other._largest_answer

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
        if room > max(SMALL, self._most_armed):  # asking takes longer than the rest of this, and little changes
            self._leave_free(2 * room)
            self._most_armed = room
        (parcel,) = self.pack((inputs.args, inputs.kwargs), room=room)
        self.ask(Arm(targets.number, parcel, batch, flushes, reuse, copies), Done)
        self._armed = Fire(seed, late)

    def fire(self) -> Sampled:
        """Take the sample that was armed."""
        self.begin_fire()
        return self.end_fire()

    def begin_fire(self) -> None:
        """Have the sample taken that was armed, without waiting."""
        self.tell(self._armed)

    def end_fire(self) -> Sampled:
        """The sample that was begun."""
        reply = self.hear(Sampled, TooSmall)
        if isinstance(reply, TooSmall):
            detail = f"a timed call returned {reply.needed} bytes, which it did not when it was verified"
            raise Rejected("recheck-after-timing", "while timing", detail)
        return reply

    def left(self, told: Observed, inputs: Inputs, like: Observation) -> Observation:
        """What a call of a sample left behind, copied out of the candidate's reach; `inputs`: as it was given them."""
        self._clean(told, "while timing")
        found = self._observation(told, inputs, like)
        changed = {i: clone_tensor(t, 0) for i, t in found.changed_inputs.items()}
        return Observation(map_tensors(clone_tensor, found.output), changed)
