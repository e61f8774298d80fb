"""The process that asks hosted models, as the server sees it: started, asked over a private socket, killed."""

import asyncio
import os
import socket
import subprocess
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kernelwright.models import messages
from kernelwright.models.messages import Answered, Ask, Cancel, Failed, Missing, Progress, Ready, Waiting
from kernelwright.values.plain import plain

_SCRIPT = Path(__file__).parent / "litellm_process.py"
_START_LIMIT = 90.0  # seconds until litellm is imported, from a cold network disk too
_GRACE = 5.0  # seconds beyond its own limit for the process to tell that a request has reached it
_OBEY_LIMIT = 0.9  # seconds until a request that was cancelled has closed its connection
_LOG_BYTES = 16 << 10

Heard = Callable[[Progress | Waiting], None]


class NotStarted(Exception):
    """The process does not take requests; the message says what to change."""


class Ended(Exception):
    """The process has ended; the message is the last line that it printed."""


@dataclass(eq=False)
class Process:
    """Use `start`; then `ask` as often as wanted, at the same time too; `close` at any moment."""

    _popen: subprocess.Popen[bytes]
    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter
    _asked: dict[int, tuple[asyncio.Future[Answered | Failed], Heard]] = field(default_factory=dict)
    _log: bytearray = field(default_factory=bytearray)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _over: bool = False

    @classmethod
    async def start(cls, interpreter: str, environment: Mapping[str, str], variables: Mapping[str, str]) -> "Process":
        """A process that takes requests. `variables` are added to its environment where no other process can read them.

        Raises NotStarted.
        """
        ours, theirs = socket.socketpair()
        printed, printing = os.pipe()
        try:
            popen = subprocess.Popen(
                [interpreter, "-P", str(_SCRIPT), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=printing,
                stderr=printing,
                pass_fds=(theirs.fileno(),),
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            os.close(printed)
            ours.close()
            raise NotStarted(f"The interpreter {interpreter} cannot be run ({error.strerror}).") from error
        finally:
            os.close(printing)
            theirs.close()
        reader, writer = await asyncio.open_connection(sock=ours, limit=messages.LONGEST)
        process = cls(popen, reader, writer)
        process._begin(process._keep_prints(printed))
        try:
            await process._greet(interpreter, variables)
        except BaseException:
            await process.close()
            raise
        process._begin(process._read())
        return process

    @property
    def alive(self) -> bool:
        return self._popen.poll() is None and not self._reader.at_eof() and not self._writer.is_closing()

    async def ask(self, ask: Ask, heard: Heard, cancel: asyncio.Event | None) -> Answered | Failed:
        """What became of the request. Raises Ended. `cancel`, and the end of the calling task, end the request."""
        answer: asyncio.Future[Answered | Failed] = asyncio.get_running_loop().create_future()
        self._asked[ask.id] = answer, heard
        if self._over:
            answer.set_exception(Ended(self.last_line))
        cancelled: asyncio.Future[Any] = asyncio.create_task((cancel or asyncio.Event()).wait())
        try:
            self._writer.write(messages.line(ask))
            limit = ask.seconds + _GRACE
            await asyncio.wait([answer, cancelled], timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if not answer.done():
                self._writer.write(messages.line(Cancel(ask.id)))
                await asyncio.wait({answer}, timeout=_OBEY_LIMIT)
            if not answer.done():
                self.kill()
            return await answer
        finally:
            cancelled.cancel()
            del self._asked[ask.id]
            if not answer.done():  # the calling task ends
                answer.cancel()
                self._writer.write(messages.line(Cancel(ask.id)))

    def kill(self) -> None:
        self._popen.kill()

    async def close(self) -> None:
        """End the process and all its requests."""
        self.kill()
        await asyncio.to_thread(self._popen.wait)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=1.0)  # a child of it may still hold the other ends
        for task in self._tasks:
            task.cancel()
        self._writer.close()

    @property
    def last_line(self) -> str:
        """The last line that the process, or a library in it, has printed."""
        lines = self._log.decode("utf-8", "replace").strip().splitlines()
        return plain(lines[-1].strip()) if lines else ""

    async def _greet(self, interpreter: str, variables: Mapping[str, str]) -> None:
        try:
            async with asyncio.timeout(_START_LIMIT):
                self._writer.write(messages.line(messages.Start(variables)))
                greeting = messages.read(await self._reader.readline())
        except TimeoutError:
            raise NotStarted(f"{interpreter} did not import litellm within {_START_LIMIT:g} s.") from None
        except (OSError, ValueError):
            await self.close()
            raise NotStarted(f"{interpreter} ended while it imported litellm: {self.last_line or 'no word'}.") from None
        match greeting:
            case Ready():
                return
            case Missing(module=module):
                raise NotStarted(
                    f"{module} is not installed in {interpreter}: run `{interpreter} -m pip install 'kernelwright[llm]'`."
                )
            case _:
                raise NotStarted(f"{interpreter} did not start the process that asks models.")

    async def _read(self) -> None:
        """Hand each message to who waits for it, until the process ends or says what is none."""
        try:
            while line := await self._reader.readline():
                match messages.read(line):
                    case Progress(id=number) | Waiting(id=number) as told:
                        if number in self._asked:
                            self._asked[number][1](told)
                    case Answered(id=number) | Failed(id=number) as last:
                        if number in self._asked and not self._asked[number][0].done():
                            self._asked[number][0].set_result(last)
        except (OSError, ValueError):  # too long a line is a ValueError too
            pass
        finally:
            self.kill()
            await asyncio.to_thread(self._popen.wait)
            await asyncio.sleep(0.05)  # for its last words
            self._over = True
            for answer, _ in self._asked.values():
                if not answer.done():
                    answer.set_exception(Ended(self.last_line))

    async def _keep_prints(self, descriptor: int) -> None:
        """Read all that is printed, keep the end."""
        reader = asyncio.StreamReader()
        pipe = os.fdopen(descriptor, "rb", buffering=0)
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        try:
            while chunk := await reader.read(1 << 14):
                self._log += chunk
                del self._log[:-_LOG_BYTES]
        finally:
            transport.close()

    def _begin(self, work: Coroutine[object, object, None]) -> None:
        self._tasks.add(asyncio.create_task(work))
