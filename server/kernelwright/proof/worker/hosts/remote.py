"""The judge's side of one host: typed requests, and replies that are checked before anything is made of them."""

import contextlib
import select
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import torch

from kernelwright.proof.worker import processes
from kernelwright.proof.worker.ended import ended
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.frames import BadFrame
from kernelwright.proof.worker.hosts import channel
from kernelwright.proof.worker.hosts.arena import Arena, make_arena
from kernelwright.proof.worker.hosts.messages import Done, Failed, GiveBack, Refused, Reply, Request, Returned, UseArena
from kernelwright.proof.worker.hosts.parcels import (
    Parcel,
    Sent,
    left_to_do,
    put,
    rebuilt,
    room_for,
    slotted,
    stand_in,
    view,
)
from kernelwright.proof.worker.hosts.zygote import zygote
from kernelwright.proof.worker.inputs import tensors_in
from kernelwright.proof.worker.rejected import Rejected, Undecidable
from kernelwright.values import Failure, FailureKind

T = TypeVar("T", bound=Reply)
Work = Callable[[], bool]  # a piece of it; False where there is no more

TIMING = "while timing"
CALL_LIMIT = 600.0  # seconds for one request; the job's own limit ends most hangs before
_FIRST, _DOUBLED = 8 << 20, 64 << 20  # bytes of an arena: at least, and up to which it has twice what is asked for
_LOG = 64 << 10  # bytes of what a host printed that are kept


class Host:
    """One process for one text. `start` and `close` it, whatever happens; one request at a time.

    `waited`: seconds for its replies; `limit`: for one of them.
    """

    limit = CALL_LIMIT

    def __init__(self, path: str, device: str) -> None:
        self.path = path
        self.device = device
        self.waited = 0.0
        self._beside: Work | None = None
        self._arena: Arena | None = None

    def start(self, *, triton: bool) -> None:
        """Fork the process. `triton`: the text launches Triton's kernels on a GPU, perhaps by way of torch.compile."""
        self._birth = zygote().spawn(triton=triton)
        self._log = bytearray()
        self._killed = False
        self._reading = threading.Thread(target=_keep_prints, args=(self._birth.prints, self._log), daemon=True)
        self._reading.start()

    @property
    def pid(self) -> int:
        return self._birth.pid

    def ask(self, request: Request, *expected: type[T], case: str = TIMING) -> T:
        """The reply, one of those `expected`. Raises Rejected (the text fails a check in this case), JobFailed (it ended its
        process, or answered garbage)."""
        self.tell(request, case=case)
        return self.hear(*expected)

    def tell(self, request: Request, descriptor: int | None = None, *, case: str = TIMING) -> None:
        """Send a request whose reply `hear` waits for: until then the host works beside the judge. Raises like `ask`."""
        self._case = case
        with self._typed_failures():
            channel.send_request(self._birth.channel, request, descriptor)

    def hear(self, *expected: type[T]) -> T:
        """The reply to the last request. Raises like `ask`."""
        while self._beside is not None and not self.has_answered() and self._beside():
            pass
        begun = time.monotonic()
        with self._typed_failures():
            assert self.pid  # a zygote that does not answer is told, and not waited for as long as a call
            reply = channel.receive_reply(self._birth.channel, self.limit)
        self.waited += time.monotonic() - begun
        match reply:
            case Refused(check=check):
                raise Rejected(check.name, self._case, check.detail)
            case Failed(failure=failure):
                raise JobFailed(failure)
            case _ if isinstance(reply, expected):
                return reply
        words = f"The code's process answered with {type(reply).__name__} instead of {expected[0].__name__}."
        raise JobFailed(Failure(FailureKind.CRASHED, words))

    @contextlib.contextmanager
    def beside(self, work: Work | None) -> Iterator[None]:
        """Within it the work is done, piece by piece, while replies are waited for. It must not raise, nor `pack`."""
        self._beside = work
        try:
            yield
        finally:
            self._beside = None

    def has_answered(self) -> bool:
        """Whether `hear` would not wait."""
        return bool(select.select([self._birth.channel], [], [], 0)[0])

    @contextlib.contextmanager
    def _typed_failures(self) -> Iterator[None]:
        try:
            yield
        except channel.Ended:
            raise JobFailed(self._ended()) from None
        except BadFrame as garbled:
            message = (
                "The code wrote into the pipe between its process and the judge: it must not write to file descriptors that "
                "it did not open."
            )
            raise JobFailed(Failure(FailureKind.CRASHED, message, str(garbled))) from None
        except channel.TooSlow:
            message = f"The code did not come back within {self.limit:.3g} s."
            raise JobFailed(Failure(FailureKind.TIMED_OUT, message)) from None
        except (AttributeError, TypeError, ValueError, ImportError) as error:  # what pickle raises
            raise Undecidable(
                f"The workload's arguments cannot be sent to another process ({error}): use tensors and plain values."
            ) from error

    def pack(self, *trees: Any, room: int = 0) -> tuple[Parcel, ...]:
        """The trees' tensors in the arena, made larger where they, or `room` bytes of an answer, do not fit."""
        slots = [slotted(tree) for tree in trees]
        tensors = [tensor for _, found in slots for tensor in found]
        self._make_room(max(room_for(tensors), room))
        assert self._arena is not None
        sent = put(tensors, self._arena.bytes)
        if self.device == "cuda":
            torch.cuda.synchronize()
        parcels, start = [], 0
        for tree, found in slots:
            parcels.append(Parcel(tree, sent[start : start + len(found)]))
            start += len(found)
        return tuple(parcels)

    def read(self, sent: Sequence[Sent]) -> list[Any]:
        """Tensors that the host has put into the arena, as views: valid until the next `pack`. Raises JobFailed."""
        assert self._arena is not None
        try:
            return [view(one, self._arena.bytes, self.device) for one in sent]
        except (ValueError, RuntimeError, OverflowError) as error:
            raise JobFailed(_forged(error)) from error

    def output(self, returned: Returned, like: Any) -> Any:
        """The tree of outputs, in containers of the baseline's types, and with stand-ins for tensors that are still to be
        computed with, unless there are such in `like`. Raises JobFailed."""
        tensors = self.read(returned.tensors)
        if not any(left_to_do(tensor) for tensor in tensors_in(like)):
            pairs = zip(returned.tensors, tensors, strict=True)
            tensors = [stand_in(f"tensor that is {sent.lazy}") if sent.lazy else tensor for sent, tensor in pairs]
        try:
            return rebuilt(returned.tree, tensors, like)
        except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
            raise JobFailed(_forged(error)) from error

    def give_back(self) -> None:
        """Free the arena, and what the host keeps for later."""
        if self._arena is not None:
            self.ask(GiveBack(), Done)  # it lets go first: memory that another process has open is not freed
            old, self._arena = self._arena, None
            old.close()

    def kill(self) -> None:
        """End the process and all that it started in its group, without waiting until it is gone."""
        if self._killed:
            return  # its number may be another's by now
        self._killed = True
        processes.kill_group(self.pid)  # first: one that ends by itself, as its channel closes, is waited for there
        self._birth.channel.close()

    def close(self) -> None:
        """End the process, wait until it is gone, and give the arena back."""
        self.kill()
        zygote().exit_code(self.pid)
        if self._arena is not None:
            self._arena.close()
            self._arena = None

    def _make_room(self, size: int) -> None:
        if self._arena is not None and self._arena.handle.size >= size:
            return
        self.give_back()  # first: both may not fit
        # Each new one is some calls of the driver, here and there: small ones are made large enough for what comes later.
        self._arena = make_arena(max(size, min(2 * size, _DOUBLED), _FIRST), self.device)
        self.tell(UseArena(self._arena.handle), self._arena.descriptor)
        self.hear(Done)

    def _ended(self) -> Failure:
        code = zygote().exit_code(self.pid, 2.0)
        self._reading.join(0.5)
        return ended(code, self._log.decode("utf-8", "replace"), self.path)


def _keep_prints(descriptor: int, log: bytearray) -> None:
    """Read all that the text prints, keep the end."""
    with open(descriptor, "rb", buffering=0) as pipe:
        while chunk := pipe.read(1 << 16):
            log += chunk
            del log[:-_LOG]


def _forged(error: Exception) -> Failure:
    return Failure(FailureKind.CRASHED, "The code's process described outputs that do not exist.", str(error)[:300])
