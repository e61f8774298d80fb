"""What this process can still reach: tried, not believed."""

import os
import socket

from kernelwright.proof.worker.sandbox.secrets import is_secret

_NOWHERE = ("192.0.2.1", 9)  # RFC 5737: an address that no machine has


def memory_of(process: int) -> bool:
    """Whether the memory or the environment of another process can be opened."""
    return any(_opens(f"/proc/{process}/{name}") for name in ("mem", "environ"))


def signals_to(process: int) -> bool:
    """Whether a signal to another process would pass. None is sent."""
    try:
        os.kill(process, 0)
    except OSError:
        return False
    return True


def the_network() -> bool:
    """Whether there is a way to another machine. Nothing is sent."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
            end.connect(_NOWHERE)
    except OSError:
        return False
    return True


def a_privilege() -> bool:
    """Whether a thread of this process may gain privileges by running a set-uid program."""
    for thread in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{thread}/status") as file:
            if "NoNewPrivs:\t1\n" not in file.read():
                return True
    return False


def secrets_at_start() -> set[str]:
    """The names of secrets in the environment that this process was started with; the kernel keeps it readable."""
    with open("/proc/self/environ", "rb") as file:
        pairs = [entry.decode(errors="replace").partition("=") for entry in file.read().split(b"\0") if entry]
    return {name for name, _, value in pairs if is_secret(name, value)}


def _opens(path: str) -> bool:
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
    except OSError:
        return False
    return True
