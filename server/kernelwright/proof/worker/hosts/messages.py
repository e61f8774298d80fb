"""What judge and host say to each other. Requests are pickled (the host trusts the judge); replies are JSON of these values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from kernelwright.proof.worker.hosts.arena import Handle
from kernelwright.proof.worker.hosts.parcels import Parcel, Sent
from kernelwright.proof.worker.profiling.work import Work
from kernelwright.proof.worker.ran import NOTHING, Ran
from kernelwright.proof.worker.timing.late import Late
from kernelwright.values import Check, Failure, Workload
from kernelwright.values.confinement import Confinement


class Request:
    """What a host is asked, and answers with one Reply."""


@dataclass(frozen=True)
class Load(Request):
    """Confine the process to `scratch`, then run `text` as a module of its language. Answered by Loaded, or Refused.

    `left` are the settings that the baseline changes on import; `hidden` folders cannot be read, `protected` processes not be
    signalled. `interpreted`: Triton's interpreter runs it, and the CPU stands in for the GPU that it asks for. `watched`:
    replies say what of the text ran. `timed`: kernels are tuned as they are for the user.
    """

    path: str
    text: str
    language: str
    device: str
    threads: int
    left: Mapping[str, Any]
    scratch: str
    interpreted: bool = False
    hidden: tuple[str, ...] = ()
    protected: tuple[int, ...] = ()
    watched: bool = False
    timed: bool = False


@dataclass(frozen=True)
class UseArena(Request):
    """From now on tensors cross here. A shared file comes beside the message. Answered by Done."""

    handle: Handle


@dataclass(frozen=True)
class GiveBack(Request):
    """Close the arena, and give back all memory that no target holds. Answered by Done."""


@dataclass(frozen=True)
class Construct(Request):
    """Make target number `key` under `seed`; the baseline's constructor leaves `seed_left`. A module takes over `state`.

    Answered by Done with what was found in words, or Refused.
    """

    key: int
    workload: Workload
    init: Parcel
    is_module: bool
    training: bool
    state: Parcel
    seed: int
    seed_left: int


@dataclass(frozen=True)
class SetState(Request):
    """Put these values into parameters and buffers of target `key`. Answered by Done."""

    key: int
    tensors: Parcel


@dataclass(frozen=True)
class Observe(Request):
    """The last of so many `calls` under one seed (see observe), with `poison_sizes` bytes of freed blocks full of NaN first.

    Answered by Observed, or Refused. With `attributes` those of them that change are its state. With `bounded` it is made
    again between unmapped addresses (see bounds.look).
    """

    key: int
    inputs: Parcel
    seed: int
    poisoned: bool = False
    poison_sizes: tuple[int, ...] = ()
    bounded: bool = False
    calls: int = 1
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Attempt(Request):
    """Call target number `key` on each of these, for what is compiled then, whatever else comes of it. Answered by Done."""

    key: int
    inputs: tuple[Parcel, ...]


@dataclass(frozen=True)
class CallOften(Request):
    """Call on `first`, `times` on `second`, on `first` again, and with `moving` on `second` in the memory of `first`.

    Those on `second` end after so many `seconds`, but for the first few. With `overwriting` what the first call returned is
    written over before the last answer to `first` is read: two callers share no memory.

    Answered by Often, or Refused.
    """

    key: int
    first: Parcel
    second: Parcel
    times: int
    seconds: float
    moving: bool
    overwriting: bool
    seed: int


@dataclass(frozen=True)
class CallInOrder(Request):
    """One call on `inputs`, which a GPU's current stream brings late into memory that held `other` data before.

    Answered by Returned, or Refused.
    """

    key: int
    inputs: Parcel
    other: Parcel
    seed: int


@dataclass(frozen=True)
class Differentiate(Request):
    """One call with gradients, back from `cotangents` (by index of output tensor) to inputs that require grad and `parameters`.

    Answered by Gradients, or Refused.
    """

    key: int
    inputs: Parcel
    cotangents: Parcel
    parameters: tuple[str, ...]
    seed: int


@dataclass(frozen=True)
class Arm(Request):
    """Copy the inputs to fresh memory for one timed sample of `batch` calls, of which Fire tells the rest. Answered by Done.

    With `reuse` they are copied into the memory of the last sample instead. `copies`: of the inputs, which the calls use in
    turn; 0 for as many as there are calls. `flushes`: how often L2 is written over before each call.
    """

    key: int
    inputs: Parcel
    batch: int
    flushes: int
    reuse: bool = False
    copies: int = 0


@dataclass(frozen=True)
class Fire(Request):
    """Take the sample that was armed, on random numbers of this seed, and on inputs that change by it before.

    What was computed of the inputs while the sample was armed, before the judge's clock ran, is wrong then. Answered by
    Sampled, or Refused.
    """

    seed: int
    late: tuple[Late, ...] = ()


@dataclass(frozen=True)
class Look(Request):
    """One call, and who does its work. Answered by Work, or Refused."""

    key: int
    inputs: Parcel
    seed: int
    interpreted: bool


@dataclass(frozen=True)
class Try(Request):
    """Construct and call what a workload line calls, with gradients where it asks for them, on data of this seed.

    With `repeated` it is asked whether another call comes to the same. The launches of `kernels` of the file `written` are
    written as lines. A tuned kernel takes this `configuration`, or any. Answered by Launched, Refused or Failed.
    """

    line: str
    written: str = ""
    kernels: tuple[str, ...] = ()
    seed: int = 0
    repeated: bool = True
    configuration: int | None = None


@dataclass(frozen=True)
class Constructor(Request):
    """The parameters of the constructor of a class of the module. Answered by Done with its definition, or Refused."""

    name: str


@dataclass(frozen=True)
class Loaded:
    """The module runs; `changed` are settings that it changed on import, `added` variables that it added to the environment."""

    confinement: Confinement
    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()


@dataclass(frozen=True)
class Done:
    words: str = ""
    ran: Ran = NOTHING


@dataclass(frozen=True)
class Returned:
    """A tree of outputs (see parcels.described) and its tensors."""

    tree: Any
    tensors: tuple[Sent, ...]


@dataclass(frozen=True)
class Observed:
    """What a call left behind."""

    output: Returned
    inputs_after: tuple[Sent, ...] = ()
    state: Mapping[str, Sent] = field(default_factory=dict)
    aliases: tuple[tuple[int, str], ...] = ()
    settings: tuple[str, ...] = ()  # settings that differ, and clocks or comparisons that were replaced
    replaced: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    random: Mapping[str, str] = field(default_factory=dict)  # see flags.generators
    compiled: bool = False  # whether torch.compile has been at work
    unbounded: str = ""  # why it was not called between unmapped addresses although that was asked for
    asks_for_gpu: bool = False  # and was redirected to the CPU
    ran: Ran = NOTHING


@dataclass(frozen=True)
class Often:
    """The tensors of the first output as they were and as they are after the further calls, of the same call made again,
    and of the one on moved data; how many further calls were `made`."""

    before: tuple[Sent, ...]
    after: tuple[Sent, ...]
    again: tuple[Sent, ...]
    moved: tuple[Sent, ...]
    made: int
    ran: Ran = NOTHING


@dataclass(frozen=True)
class Gradients:
    """What `gradients` found (see backward.Flow); `lacking`: why a call with gradients is refused."""

    tensors: tuple[Sent, ...] = ()
    unreached: tuple[int, ...] = ()
    carried: tuple[int, ...] = ()
    lacking: str = ""
    ran: Ran = NOTHING


@dataclass(frozen=True)
class Sampled:
    """Milliseconds per call by the host's clock, for how long the device was still busy after one, and whether all had been
    launched before the device came to them.

    `left` is what the last call left behind. It lies in the arena before this reply comes, so that whatever is computed
    while it is read is seen by the judge's clock. So does, of several calls, `other`: what call number `which` left, one
    before the last, which was chosen when it had returned.
    """

    ms: float
    residual_ms: float
    hidden: bool
    left: Observed
    other: Observed | None = None
    which: int = 0


@dataclass(frozen=True)
class Refused:
    """The text fails this check, in a case that the judge knows."""

    check: Check


@dataclass(frozen=True)
class Failed:
    """Nothing is known of the text."""

    failure: Failure


@dataclass(frozen=True)
class TooSmall:
    """The arena does not hold the answer; ask again with one of `needed` bytes."""

    needed: int


@dataclass(frozen=True)
class Launched:
    """The names of the Triton kernels that a call has launched. `repeats`: called again, it came to the same.

    `lines`: launches of those that were asked for. `seconds`: of the processor, for all calls that were made.
    `configurations`: the most that a kernel of this process was tuned among, in the interpreter. `written`: the bytes of what
    a call that was not repeated returned, and of arguments that it changed.
    """

    kernels: tuple[str, ...]
    repeats: bool = True
    lines: tuple[str, ...] = ()
    seconds: float = 0.0
    configurations: int = 0
    written: int = 0


Reply = (
    Loaded | Done | Observed | Often | Returned | Gradients | Sampled | Work | Launched | Refused | Failed | TooSmall
)
