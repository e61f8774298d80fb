"""Workers of the tests, forked from processes that have imported torch already instead of started anew, which takes seconds.

`begin` makes the place for these processes, `install` has this process use them: all that it starts behaves as before but for
`os.getppid` in the worker itself. `python -P warm.py MODULE` runs a module so. A worker starts by itself as ever where the
interpreter, the role, or a variable that is read at a start is another, or nobody is ready to fork one yet.
"""

import contextlib
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

PLACE = "WARM_WORKERS"  # a folder: the sockets of the processes by role, and beside them what is wanted
_SERVER = Path(__file__).parent / "warm_server.py"
_ROLES = ("run", "judge", "compile")
_LOOK = 0.25  # seconds between looks for what is wanted
_TAG_ROOM = "0" * 48  # for the tag of a worker


class Forked:
    """A worker that was forked elsewhere, as far as `subprocess.Popen` is asked of one."""

    def __init__(self, pid: int, connection: socket.socket) -> None:
        self.pid, self.returncode = pid, None
        self._connection = connection

    def poll(self) -> int | None:
        if self.returncode is None:
            with contextlib.suppress(BlockingIOError):
                told = self._connection.recv(4, socket.MSG_DONTWAIT)
                status = int.from_bytes(told, "big") if told else signal.SIGKILL
                self.returncode = os.waitstatus_to_exitcode(status)
                self._connection.close()
        return self.returncode


@contextlib.contextmanager
def begin(at_once: bool = False) -> Iterator[None]:
    """The place, in the environment of this process; a process is started when the first worker of its role is wanted, or
    `at_once`.
    """
    done, running = threading.Event(), []

    def watch(folder: Path) -> None:
        while not done.wait(_LOOK):
            for wanted in folder.glob("*.wanted"):
                wanted.rename(wanted.with_suffix(".begun"))
                running.append(_start(wanted.stem, folder))

    with tempfile.TemporaryDirectory(prefix="kernelwright-warm-") as name:
        for role in _ROLES if at_once else ():
            Path(name, f"{role}.wanted").touch()
        watching = threading.Thread(target=watch, args=(Path(name),), daemon=True)
        watching.start()
        os.environ[PLACE] = name
        yield
        del os.environ[PLACE]
        done.set()
        watching.join()
        for process in running:
            process.kill()
            process.wait()


def install() -> None:
    """From now on, where there is a place, this process's workers are forked there."""
    from kernelwright.proof import process

    own = process.spawn

    def spawn(command: Sequence[str], descriptor: int, printing: int, cwd: Path | None, environment: dict[str, str]):
        return _forked(command, descriptor, printing, cwd, environment) or own(
            command, descriptor, printing, cwd, environment
        )

    process.spawn = spawn


def module(name: str) -> tuple[str, ...]:
    """What an interpreter is called with to run a module with `install`."""
    return "-P", __file__, name


def _forked(
    command: Sequence[str], descriptor: int, printing: int, cwd: Path | None, environment: dict[str, str]
) -> Forked | None:
    interpreter, *_, role, server = command
    place = os.environ.get(PLACE)
    if not place or not hasattr(os, "pidfd_open") or interpreter != sys.executable or role not in _ROLES:
        return None
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(os.path.join(place, role))
    except OSError:
        with contextlib.suppress(OSError):
            if not os.path.exists(os.path.join(place, f"{role}.begun")):
                Path(place, f"{role}.wanted").touch()
        connection.close()
        return None
    asked = {"role": role, "server": int(server), "cwd": str(cwd or os.getcwd()), "environment": environment}
    data = json.dumps(asked).encode()
    socket.send_fds(connection, [len(data).to_bytes(4, "big")], [descriptor, printing])
    connection.sendall(data)
    pid = int.from_bytes(connection.recv(4, socket.MSG_WAITALL), "big", signed=True)
    if pid <= 0:
        connection.close()
        return None
    return Forked(pid, connection)


def _start(role: str, folder: Path) -> subprocess.Popen[bytes]:
    from kernelwright.proof.station import environment

    variables = {**environment(role), "KERNELWRIGHT_WORKER": _TAG_ROOM}
    command = [sys.executable, "-s", str(_SERVER), role, str(folder / role), str(os.getpid())]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, env=variables, start_new_session=True)


if __name__ == "__main__":
    install()
    sys.argv[:] = sys.argv[1:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
