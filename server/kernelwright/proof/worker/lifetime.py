"""A worker never outlives its server, and a subprocess of user code never holds the private pipe."""

import ctypes
import faulthandler
import os
import signal
import sys
import threading
import time

_PR_SET_PDEATHSIG = 1


def bind_to_server(descriptor: int, server: int) -> None:
    """Die with the parent process `server`, keep the pipe private, and be the first that the system sacrifices."""
    os.set_inheritable(descriptor, False)
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        _offer_to_the_oom_killer()
    if os.getppid() != server:
        os._exit(0)  # the server ended before the signal was asked for
    threading.Thread(target=_watch, args=(server,), daemon=True, name="kernelwright-watch").start()
    faulthandler.enable()
    _no_core_files()


def _watch(server: int) -> None:
    """Where there is no death signal, and where the thread that started us outlived its process."""
    while os.getppid() == server:
        time.sleep(1.0)
    os._exit(0)


def _no_core_files() -> None:
    """A crash is an answer here; a core file of gigabytes would only delay it."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _offer_to_the_oom_killer() -> None:
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("600")
    except OSError:
        return  # a container may forbid it; the memory watch in the server still holds
