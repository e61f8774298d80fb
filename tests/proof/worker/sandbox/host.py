"""Processes like the one that runs a candidate: forked, confined, then asked to do a deed. A program: one case a line.

A deed is the body of a function that sees `parent`, `sibling` (another process, confined alike), `scratch`, `outside`,
`hidden` and `home`. It has succeeded when it returns, and was stopped when it raises OSError.
"""

import ctypes
import fcntl
import glob
import json
import os
import resource
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import textwrap
import time
import traceback
from collections.abc import Callable
from typing import Any, BinaryIO

from kernelwright.proof.worker.sandbox.fence import confine
from kernelwright.proof.worker.sandbox.limits import Limits
from kernelwright.proof.worker.sandbox.syscalls import rules
from kernelwright.wire import encode

# Everything that a deed may need is imported here: another user may not read this interpreter's files.
TOOLS = (ctypes, fcntl, shutil, glob, resource, select, socket, struct, subprocess, tempfile, time, rules)
_SET_DUMPABLE = 4


def main() -> None:
    for line in sys.stdin:
        pid, told = forked(lambda telling, case=json.loads(line): os.write(telling, outcome(case)))
        print(told.read().decode(), flush=True)
        os.waitpid(pid, 0)


def outcome(case: dict) -> bytes:
    """What became of one case, as JSON; this process is the parent of the confined one."""
    os.setsid()  # some deeds signal their parent's group
    become(case["user"])
    os.environ["HOME"] = case["place"] + "/home"
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    sibling, ready = forked(lambda telling: idle(case, telling))
    ready.read(1)
    host, told = forked(lambda telling: os.write(telling, answer(case, telling, sibling)))
    answered = told.read()
    for process in (host, sibling):
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    return answered or b'{"stopped": "it was ended"}'


def become(user: int) -> None:
    """This user, and as traceable as if its processes had been started by it."""
    if user != os.getuid():
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
        ctypes.CDLL(None).prctl(_SET_DUMPABLE, 1, 0, 0, 0)


def forked(work: Callable[[int], object]) -> tuple[int, BinaryIO]:
    """A child that works with the writing end of a pipe: its number, the reading end."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            work(writing)
        except BaseException:  # noqa: BLE001  (said, and the child ends)
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(writing)
    return pid, open(reading, "rb", buffering=0)


def idle(case: dict, telling: int) -> None:
    confined(case, telling)
    os.write(telling, b".")
    time.sleep(300)


def confined(case: dict, telling: int) -> Any:
    options = {"descriptors": [telling], **case["options"]}
    if not options.pop("confined", True):
        return None
    options["bounds"] = Limits(**options.get("bounds", {}))
    return confine(case["place"] + "/scratch", **options)


def answer(case: dict, telling: int, sibling: int) -> bytes:
    names: dict[str, Any] = {name: f"{case['place']}/{name}" for name in ("scratch", "outside", "hidden", "home")}
    names |= {"parent": os.getppid(), "sibling": sibling} | globals()
    body = textwrap.indent(textwrap.dedent(case["deed"]), "    ")
    exec(f"def deed():\n    pass\n{body}\n", names)
    held = confined(case, telling)
    try:
        told = {"returned": names["deed"]()}
    except (OSError, subprocess.CalledProcessError) as error:
        told = {"stopped": str(error)}
    except BaseException:  # noqa: BLE001  (a mistake in the deed, told to the test)
        told = {"broken": traceback.format_exc()}
    return json.dumps(told | {"confinement": encode(held)}, default=repr).encode()


if __name__ == "__main__":
    main()
