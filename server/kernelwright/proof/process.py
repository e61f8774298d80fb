"""One worker process: started with the user's interpreter, asked over a private pipe, killed with all its children."""

import asyncio
import atexit
import contextlib
import functools
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from kernelwright.proof import endings, family, memory, scratch
from kernelwright.proof.jobs import Job
from kernelwright.proof.worker import frames, processes
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.values import Failure, FailureKind
from kernelwright.values.plain import plain

BOOTSTRAP = Path(__file__).parent / "worker" / "bootstrap.py"
_HELLO_LIMIT = 30.0  # seconds until the interpreter runs our first line
_READY_LIMIT = 300.0  # seconds until torch is imported, from a cold network disk too
_PONG_LIMIT = 2.0  # seconds until a worker that waits says that it takes a job
_BODY_LIMIT = 10.0  # seconds from the start of a message to its end; a worker writes each in one go
_TRACKERS_LIMIT = 2.0  # seconds in which trackers remove the shared memory of a family that has ended
_WATCH = 0.2  # seconds between looks at a busy worker
_LOG_BYTES = 64 << 10

Report = Callable[[str], None]


class StartFailed(JobFailed):
    """The worker did not come up."""


class Broken(Exception):
    """The pipe ended, or carries bytes that are not ours; the message says what was seen, empty for an end."""


@dataclass(eq=False)
class WorkerProcess:
    """Use `start`; then one `ask` at a time; `kill` at any moment."""

    _popen: subprocess.Popen[bytes]
    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter
    _folder: Path
    _tag: str
    _log: bytearray = field(default_factory=bytearray)
    _printing: asyncio.Task[None] | None = None
    _last_id: int = 0
    _strays: int = 0  # answers to what was not asked last: somebody else writes there too
    sees_gpu: bool = False
    owner: int = field(default_factory=os.getpid)

    @classmethod
    async def start(cls, interpreter: str, role: str, cwd: Path | None, environment: dict[str, str]) -> "WorkerProcess":
        """A worker that takes jobs. Raises StartFailed, leaving nothing behind."""
        _keep_private()
        _sweep()
        try:
            folder = scratch.make(role)
        except OSError as error:
            raise StartFailed(endings.no_scratch(error)) from error
        tag = scratch.tag()
        environment = {**_with_caches(environment), "TMPDIR": str(folder), processes.TAG: tag}
        ours, theirs = socket.socketpair()
        printed, printing = os.pipe()
        command = [interpreter, "-s", str(BOOTSTRAP), str(theirs.fileno()), role, str(os.getpid())]
        try:
            folder_there = cwd if cwd is not None and cwd.is_dir() else None
            popen = spawn(command, theirs.fileno(), printing, folder_there, environment)
        except OSError as error:
            os.close(printed)
            ours.close()
            scratch.remove(folder)
            raise StartFailed(endings.not_started(interpreter, error)) from error
        finally:
            os.close(printing)
            theirs.close()
        reader, writer = await asyncio.open_connection(sock=ours)
        process = cls(popen, reader, writer, folder, tag)
        _living.add(process)
        process._printing = asyncio.create_task(process._keep_prints(printed))
        try:
            await process._greet(interpreter)
        except BaseException:
            process.kill()
            await asyncio.shield(process.gone())
            raise
        return process

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def alive(self) -> bool:
        fine = not self._reader.at_eof() and not self._strays and self._folder.is_dir()
        return self._popen.poll() is None and fine

    @property
    def log_tail(self) -> str:
        """The end of what the worker, and user code in it, has printed."""
        return plain(self._log.decode("utf-8", "replace"), lines=True)

    async def ask(self, job: Job, report: Report) -> frames.Reply:
        """The reply to `job`; stages go to `report`. Raises Broken."""
        self._last_id += 1
        self._log.clear()
        try:
            self._writer.write(frames.pack(frames.Request(self._last_id, job)))
            await self._writer.drain()
        except (ConnectionError, OSError):
            raise Broken from None
        while True:
            frame = await self._frame()
            match frame:
                case frames.Stage(id=self._last_id, words=words):
                    report(words)
                case frames.Reply(id=self._last_id):
                    return frame
                case frames.Stage(id=number) | frames.Reply(id=number) if number < self._last_id:
                    self._strays += 1  # what an earlier job left in the pipe is not this one's fault
                case _:
                    raise Broken(f"an unexpected {type(frame).__name__}")

    async def listens(self) -> bool:
        """Whether it still takes jobs. One that has died, is stopped, or has lost its pipe to a thread does not."""
        if processes.state(self.pid) in processes.OVER_OR_STOPPED:
            return False
        self._last_id += 1
        try:
            self._writer.write(frames.pack(frames.Ping(self._last_id)))
            async with asyncio.timeout(_PONG_LIMIT):
                await self._writer.drain()
                answer = await self._frame()
        except (Broken, TimeoutError, ConnectionError, OSError):
            return False
        return answer == frames.Pong(self._last_id)

    async def watch(self, memory_limit: int) -> Failure | None:
        """Returns when the process is gone (None), has grown beyond `memory_limit` bytes, or into a crowd (a Failure)."""
        while self._popen.poll() is None:
            used, processes = memory.in_use(self.pid)
            if memory_limit and used > memory_limit:
                return endings.too_much_memory(used, memory_limit)
            if processes > family.MOST:
                return family.too_many(processes)
            await asyncio.sleep(_WATCH)
        return None

    def pause(self) -> None:
        """Stop all work of this process until `resume`, so that it does not disturb a measurement."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    async def interrupt(self) -> None:
        """End the process by a signal that leaves the Python stack in its log; `kill` must follow."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGABRT)
        await self._exited(0.3)

    def kill(self) -> None:
        """Kill the process and what it started. Returns at once; `gone` waits."""
        # The group outlives its leader while children run; its number is not reused before they end.
        family.kill(self.pid, self._tag)

    async def gone(self, seconds: float = 5.0) -> None:
        """Wait for the end, close the pipes, remove its files. To be called after `kill`."""
        await self._exited(seconds)
        await self._buried(_TRACKERS_LIMIT)
        if self._printing is not None:
            await asyncio.wait({self._printing}, timeout=0.2)  # children may still hold the other end
            self._printing.cancel()
        self._writer.close()
        _living.discard(self)
        await asyncio.to_thread(scratch.remove, self._folder)

    async def exit_code(self, seconds: float) -> int | None:
        """The exit code once it is known, None when the process still lives after `seconds`."""
        await self._exited(seconds)
        if self._popen.returncode is not None and self._printing is not None:
            await asyncio.wait({self._printing}, timeout=0.2)
        return self._popen.returncode

    async def _greet(self, interpreter: str) -> None:
        limit, missing = _HELLO_LIMIT, FailureKind.NO_INTERPRETER
        while True:
            try:
                frame = await asyncio.wait_for(self._frame(), limit)
            except TimeoutError:
                self.kill()
                raise StartFailed(endings.start_timed_out(interpreter, limit, self.log_tail)) from None
            except Broken:
                code = await self.exit_code(1.0)
                raise StartFailed(endings.start_broken(interpreter, missing, code, self.log_tail)) from None
            match frame:
                case frames.Hello():
                    limit, missing = _READY_LIMIT, FailureKind.CRASHED
                case frames.Ready(gpu=gpu):
                    self.sees_gpu = gpu
                    return
                case frames.TooOld(python=version):
                    raise StartFailed(endings.too_old(interpreter, version))
                case _:
                    raise StartFailed(endings.start_broken(interpreter, missing, None, self.log_tail))

    async def _frame(self) -> frames.Frame:
        try:
            header = await self._reader.readexactly(1)
            async with asyncio.timeout(_BODY_LIMIT):
                header += await self._reader.readexactly(frames.HEADER.size - 1)
                body = await self._reader.readexactly(frames.body_length(header))
                return frames.unpack(body, untrusted=True)
        except TimeoutError:
            raise Broken("a message that does not end") from None
        except (asyncio.IncompleteReadError, ConnectionError, OSError):
            raise Broken from None
        except frames.BadFrame as error:
            raise Broken(str(error)) from error

    async def _keep_prints(self, descriptor: int) -> None:
        """Read all that is printed, keep the end."""
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        pipe = os.fdopen(descriptor, "rb", buffering=0)
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        try:
            while chunk := await reader.read(1 << 18):
                self._log += chunk
                del self._log[:-_LOG_BYTES]
        finally:
            transport.close()

    async def _exited(self, seconds: float) -> None:
        """Polled: a child watcher of asyncio would need the main thread on some versions."""
        end = asyncio.get_running_loop().time() + seconds
        pause = 0.002
        while self._popen.poll() is None and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(pause)
            pause = min(pause * 2, 0.05)

    async def _buried(self, seconds: float) -> None:
        """Wait for the rest of its family, which was killed or ends by itself; kill what does not."""
        end = asyncio.get_running_loop().time() + seconds
        while family.family(self.pid, self._tag):
            if asyncio.get_running_loop().time() > end:
                family.kill_all(self.pid, self._tag)
                return
            await asyncio.sleep(0.02)

    def _signal(self, number: int) -> None:
        if self._popen.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)


def spawn(
    command: Sequence[str], descriptor: int, printing: int, cwd: Path | None, environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    """Start a worker's program, which keeps `descriptor` and prints to `printing`, in a session of its own. Raises OSError."""
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=printing,
        stderr=printing,
        pass_fds=(descriptor,),
        cwd=cwd,
        env=environment,
        start_new_session=True,
    )


_living: set[WorkerProcess] = set()


@atexit.register
def _kill_the_living() -> None:
    """A process that ends without closing its workers does not leave them to find that out, and to their files."""
    for process in _living:
        if process.owner == os.getpid():  # a fork of this process has no workers
            process.kill()


@functools.cache
def _sweep() -> None:
    """Once, and beside the start of the first worker."""
    threading.Thread(target=scratch.sweep, daemon=True, name="kernelwright-sweep").start()


def _with_caches(environment: dict[str, str]) -> dict[str, str]:
    """torch.compile keeps what it has compiled below the temporary folder: where it is without ours."""
    import getpass  # with what asks a terminal for passwords

    try:
        user = re.sub(r'[\\/:*?"<>|]', "_", getpass.getuser())
    except (OSError, KeyError):
        return environment
    return {"TORCHINDUCTOR_CACHE_DIR": os.path.join(tempfile.gettempdir(), f"torchinductor_{user}"), **environment}


def _keep_private() -> None:
    """The server holds keys that were taken from the worker's environment: no worker may read them from its memory."""
    if sys.platform != "linux":
        return
    from kernelwright.proof.worker.sandbox import limits  # ctypes has no place in the start of a server

    limits.keep_private()
