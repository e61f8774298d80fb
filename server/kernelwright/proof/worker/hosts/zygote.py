"""The warm process that hosts are forked from: torch and triton are imported, CUDA is not touched, no user code has run.

A fork takes milliseconds where an import takes seconds, so that every text can have a process of its own.
"""

import atexit
import contextlib
import gc
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import traceback
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from kernelwright.proof.worker import lifetime, processes, triton_ahead
from kernelwright.proof.worker.ended import OWN_FAULT

_ASK = struct.Struct(">c")
_FORK, _FORK_FOR_TRITON, _PING = b"f", b"t", b"p"
_BORN, _PONG = -1, -2
_FORK_LIMIT = 20.0  # seconds
_STATUS = struct.Struct(">ii")  # pid, wait status


@dataclass(eq=False)
class Birth:
    """A new host: our end of its channel, the end of the pipe that carries what it prints, and its process."""

    channel: socket.socket
    prints: int
    zygote: "Zygote"
    number: int = 0  # of the process, once it is forked

    @property
    def pid(self) -> int:
        """Waits until it is forked. Raises OSError when the zygote is gone, or does not answer."""
        while not self.number:
            self.zygote.await_birth()
        return self.number


@dataclass(eq=False)
class Zygote:
    """The judge's side: `spawn` hosts, learn how they ended."""

    _control: socket.socket
    pid: int
    _ended: dict[int, int] = field(default_factory=dict)
    _unborn: deque[Birth] = field(default_factory=deque)

    def spawn(self, *, triton: bool = False) -> Birth:
        """A fresh host, which is not waited for; with `triton` one that knows what Triton finds out, as this process does then
        as well. Raises OSError when the zygote is gone.
        """
        ours, theirs = socket.socketpair()
        prints, printing = os.pipe()
        try:
            ask = _FORK_FOR_TRITON if triton else _FORK
            socket.send_fds(self._control, [_ASK.pack(ask)], [theirs.fileno(), printing])
        except OSError:
            ours.close()
            os.close(prints)
            raise
        finally:
            theirs.close()
            os.close(printing)
        self._unborn.append(Birth(ours, prints, self))
        if triton:
            triton_ahead.get_ready()  # while the zygote does: what is launched here will ask for it
        return self._unborn[-1]

    def await_birth(self) -> None:
        """Until the next host is forked. Raises OSError like `Birth.pid`."""
        if self._heard(_BORN, _FORK_LIMIT) is None:
            raise OSError("the process that hosts are forked from does not answer")

    def exit_code(self, pid: int, seconds: float = 2.0) -> int | None:
        """How a host ended: its exit code, negative for a signal; None when it still lives after `seconds`."""
        while pid not in self._ended:
            ready, _, _ = select.select([self._control], [], [], seconds)
            if not ready:
                return None
            try:
                self._next()
            except OSError:
                return None
        return os.waitstatus_to_exitcode(self._ended.pop(pid))

    def answers(self, seconds: float = 1.0) -> bool:
        """Whether it lives and listens: one that was just killed looks alive for a moment."""
        if processes.state(self.pid) in processes.OVER_OR_STOPPED:
            return False
        try:
            self._control.sendall(_ASK.pack(_PING))
            return self._heard(_PONG, seconds) is not None
        except OSError:
            return False

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._control.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self.pid, 0)

    def _heard(self, kind: int, seconds: float) -> int | None:
        """The number that comes with the next word of this kind. None after `seconds` of silence."""
        while select.select([self._control], [], [], seconds)[0]:
            number, status = self._next()
            if status == kind:
                return number
        return None

    def _next(self) -> tuple[int, int]:
        """The next word; who is born or has ended is noted."""
        data = b""
        while len(data) < _STATUS.size:
            part = self._control.recv(_STATUS.size - len(data))
            if not part:
                raise OSError("the process that hosts are forked from has ended")
            data += part
        number, status = _STATUS.unpack(data)
        if status == _BORN:
            self._ended.pop(number, None)  # of an earlier process with this number, for which nobody asked
            self._unborn.popleft().number = number
        elif status != _PONG:
            self._ended[number] = status
        return number, status


_here: Zygote | None = None


def fork_zygote(close: tuple[int, ...] = ()) -> None:
    """Fork this process's zygote off now, while it is clean. `close`: descriptors that no host may hold."""
    global _here
    _import_for_hosts()
    ours, theirs = socket.socketpair()
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        ours.close()
        for descriptor in close:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        try:
            serve(theirs, parent)
        finally:
            os._exit(0)
    theirs.close()
    _here = Zygote(ours, pid)


def zygote() -> Zygote:
    """This process's zygote. Where none was forked at the start (a test, a benchmark), a fresh interpreter becomes one."""
    global _here
    if _here is None:
        _here = _started()
        atexit.register(_here.close)
    return _here


def is_there() -> bool:
    """Whether this process's zygote answers; also where none was made yet."""
    return _here is None or _here.answers()


def serve(control: socket.socket, parent: int) -> None:
    """Fork a host for every request until the judge closes; tell how each ended."""
    lifetime.die_with(parent)
    _import_for_hosts()
    gc.freeze()  # what torch and triton have made is not looked through again in every host
    gc.enable()
    reading, waking = os.pipe()
    os.set_blocking(waking, False)
    signal.set_wakeup_fd(waking, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda number, frame: None)
    while True:
        ready, _, _ = select.select([control, reading], [], [])
        if reading in ready:
            os.read(reading, 4096)
            _tell_the_ended(control)
        if control in ready:
            try:
                asked, descriptors, _, _ = socket.recv_fds(control, _ASK.size, 2)
            except OSError:
                return
            if not asked:
                return
            if asked == _PING:
                control.sendall(_STATUS.pack(0, _PONG))
                continue
            if asked == _FORK_FOR_TRITON:
                triton_ahead.get_ready()  # once: the hosts that come later know it as well
            _fork_host(control, descriptors[0], descriptors[1], (reading, waking))


def _import_for_hosts() -> None:
    """What every host runs, which takes each of them 0.1 s to import for itself. Makes no CUDA context.

    What is missing, torch itself perhaps, is the job's to tell. What Triton finds out once in a process waits for
    the first text that uses it: it takes half a second, for which every first job of a new judge would wait.
    """
    with contextlib.suppress(ImportError, OSError):
        from kernelwright.proof.worker.hosts import host  # noqa: F401
        from kernelwright.proof.worker.sandbox import places

        places.credentials()  # looked for once: each host would compile the patterns, 2 of the 12 ms that confine it


def _fork_host(control: socket.socket, channel: int, printing: int, ours: tuple[int, int]) -> None:
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        control.close()
        for descriptor in ours:
            os.close(descriptor)
        code = OWN_FAULT
        try:
            os.dup2(printing, 2)
            from kernelwright.proof.worker.hosts import host

            host.main(channel, printing, parent)
            code = 0
        except BaseException:  # noqa: BLE001  (what the text raises is answered; this is a fault of ours)
            os.write(2, traceback.format_exc().encode(errors="replace"))
        finally:
            os._exit(code)
    os.close(channel)
    os.close(printing)
    control.sendall(_STATUS.pack(pid, _BORN))


def _tell_the_ended(control: socket.socket) -> None:
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if pid == 0:
            return
        with contextlib.suppress(OSError):
            control.sendall(_STATUS.pack(pid, status))


def _started() -> Zygote:
    ours, theirs = socket.socketpair()
    bootstrap = Path(__file__).parents[1] / "bootstrap.py"
    popen = subprocess.Popen(
        [sys.executable, "-s", str(bootstrap), str(theirs.fileno()), "zygote", str(os.getpid())],
        pass_fds=(theirs.fileno(),),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "OMP_WAIT_POLICY": "PASSIVE"},  # as the server does for a judge
    )
    theirs.close()
    return Zygote(ours, popen.pid)
