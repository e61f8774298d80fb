"""The files that a round opens: kernels that are right, wrong or slow, and kernels that do a deed where they are run."""

import textwrap

GOOD = """\
import torch


def scaled(x):
    y = x * 2.0
    return y.clamp(min=0.0)


# workload: scaled(randn(8, 8))
# round 0
"""
WRONG = ("x * 2.0", "x * 2.5")  # what turns GOOD into a kernel that the gate must refuse

CLEAN = """\
import torch


def faulty(x):
    return torch.relu(x) * 2.0


# workload: faulty(randn(8))
"""

_HELP = """\
import ctypes, os, signal, socket, stat, struct, subprocess, sys, tempfile, threading, time

MAGIC = {magic!r}


def sockets():
    found = []
    for descriptor in range(3, 256):
        try:
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                found.append(descriptor)
        except OSError:
            pass
    return found


def say(data):
    for descriptor in sockets():
        try:
            os.write(descriptor, data)
        except OSError:
            pass


def escape(*command, env=None):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            if command:
                os.execvpe(command[0], command, os.environ if env is None else env)
            while True:
                time.sleep(1)
        os._exit(0)


"""


def doing(deed: str, *, on_import: bool = False, magic: bytes = b"KWF1") -> str:
    """CLEAN with a `deed`, Python statements, before each call or where the file is imported."""
    lines = textwrap.indent(textwrap.dedent(deed).strip("\n"), "    ")
    head = f"import torch\n{_HELP.format(magic=magic)}def deed():\n{lines}\n\n\n"
    if on_import:
        return f"{head}deed()\n\n\n{CLEAN.split(chr(10), 3)[3]}"
    return head + CLEAN.split("\n", 3)[3].replace("    return", "    deed()\n    return")


def slow(mark: str, seconds: float = 60.0) -> str:
    """CLEAN that makes the file `mark` when it is called, and then takes its time."""
    return doing(f"open({mark!r}, 'w').close()\ntime.sleep({seconds})")
