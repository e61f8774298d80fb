"""A process that has imported what a worker of one role imports at its start, and forks itself into such workers.

`python -s warm_server.py ROLE SOCKET OWNER`: listens at SOCKET, and ends with the process OWNER. Each connection asks for one
worker (see `warm.py`), is told its number, and later how it ended.
"""

import contextlib
import ctypes
import gc
import importlib.util
import json
import os
import select
import socket
import struct
import sys
import tempfile
from pathlib import Path

LENGTH, NUMBER = struct.Struct(">I"), struct.Struct(">i")
REFUSED = -1
BOOTSTRAP = Path(__file__).parents[1] / "server" / "kernelwright" / "proof" / "worker" / "bootstrap.py"
# What an interpreter, or a library, reads as it starts: with another value, a worker would be another.
_READ_AT_THE_START = (
    "PYTHON",
    "LD_",
    "OMP_",
    "GOMP_",
    "MKL_",
    "OPENBLAS_",
    "TORCH",
    "TRITON_",
    "KERNELWRIGHT_",
    "LC_",
    "LANG",
)
_READ_LATER = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "TRITON_INTERPRET", "KERNELWRIGHT_WORKER")


def main() -> None:
    role, place, owner = sys.argv[1], sys.argv[2], int(sys.argv[3])
    started = os.pidfd_open(owner)
    at_start = _at_start(os.environ)
    spec = importlib.util.spec_from_file_location("bootstrap", BOOTSTRAP)
    bootstrap = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bootstrap)
    gc.disable()
    bootstrap.register("kernelwright", str(BOOTSTRAP.parents[2]))
    from kernelwright.proof.worker import loop

    if loop.prepare(role):
        return  # a GPU: its workers start by themselves
    if role == "judge":
        from kernelwright.proof.worker.hosts import zygote

        zygote._import_for_hosts()
    loop._import_ahead(role)
    gc.freeze()
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(f"{place}.new")
    listening.listen(64)
    os.rename(f"{place}.new", place)  # who finds it finds it ready
    born = _serve(listening, started, at_start)
    if born is not None:
        loop.main(*born)


def _serve(listening: socket.socket, owner: int, at_start: dict[str, str]) -> tuple[int, str, int] | None:
    """Fork a worker for each connection until the owner ends; in a worker, what its loop is called with."""
    living: dict[int, tuple[int, socket.socket]] = {}  # by the descriptor of the process
    while True:
        ready, _, _ = select.select([listening, owner, *living], [], [])
        for ended in set(ready) & living.keys():
            pid, connection = living.pop(ended)
            with contextlib.suppress(OSError):
                connection.sendall(NUMBER.pack(os.waitpid(pid, 0)[1]))
            connection.close()
            os.close(ended)
        if owner in ready:
            return None
        if listening not in ready or (asked := _asked(listening)) is None:
            continue
        connection, wanted, descriptors = asked
        if _at_start(wanted["environment"]) != at_start:
            pid = REFUSED
        elif (pid := os.fork()) == 0:
            for mine in (listening, connection, *(other for _, other in living.values())):
                mine.close()
            for mine in (owner, *living):
                os.close(mine)
            return _become(wanted, *descriptors)
        for each in descriptors:
            os.close(each)
        with contextlib.suppress(OSError):
            connection.sendall(NUMBER.pack(pid))
        if pid == REFUSED:
            connection.close()
        else:
            living[os.pidfd_open(pid)] = pid, connection


def _asked(listening: socket.socket) -> tuple[socket.socket, dict, list[int]] | None:
    """The next connection with what it wants, and the worker's descriptors; None where whoever asks has ended meanwhile."""
    connection, _ = listening.accept()
    try:
        header, descriptors, _, _ = socket.recv_fds(connection, LENGTH.size, 2)
        return connection, json.loads(_exactly(connection, LENGTH.unpack(header)[0])), descriptors
    except (OSError, EOFError, struct.error):
        connection.close()
        return None


def _become(asked: dict, channel: int, printing: int) -> tuple[int, str, int]:
    """What a program that was just started finds: a session, streams, a folder and an environment of its own."""
    os.setsid()
    os.dup2(printing, 1)
    os.dup2(printing, 2)
    os.close(printing)
    os.chdir(asked["cwd"])
    _mark(asked["environment"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    tempfile.tempdir = None
    sys.argv[:] = [str(BOOTSTRAP), str(channel), asked["role"], str(asked["server"])]
    _as_child_of(asked["server"])
    return channel, asked["role"], asked["server"]


def _mark(environment: dict[str, str]) -> None:
    """Write the worker's tag where /proc shows with which environment a process was started, in place of as long a one."""
    name = "KERNELWRIGHT_WORKER"
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_void_p
    place = libc.getenv(name.encode())
    tag = environment[name].encode()
    ctypes.memmove(place, tag + b"\0" * (len(os.environ[name]) - len(tag)), len(os.environ[name]))


def _as_child_of(server: int) -> None:
    """Let a worker, which dies as soon as its parent is another process than its server, see that one live or die."""
    worker, real = os.getpid(), os.getppid
    forked_by, begun = real(), _begun(server)

    def getppid() -> int:
        found = real()  # its children call this as well
        return server if os.getpid() == worker and found == forked_by and _begun(server) == begun else found

    os.getppid = getppid


def _begun(pid: int) -> str:
    """When a process began; "" once it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] in "ZX" else fields[19]


def _at_start(environment: dict[str, str]) -> dict[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(_READ_AT_THE_START) and name not in _READ_LATER
    }


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        part = connection.recv(count - len(data))
        if not part:
            raise EOFError
        data += part
    return data


if __name__ == "__main__":
    main()
