"""Runs `main` of the library of a text and writes down how that ended: `python program.py REQUEST ANSWER`, two files of JSON.

A process of its own: a program may end it, and finds its globals as it left them otherwise. Standard library alone.
"""

import ctypes
import json
import os
import resource
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    request = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (request["most_bytes"],) * 2)
    library = ctypes.CDLL(request["library"])
    library.kw_failure.restype = library.kw_launch_name.restype = ctypes.c_char_p
    given = [os.fsencode(one) for one in request["given"]]
    answer = (_emulated if request["emulated"] else _on_gpu)(library, given, request)
    ctypes.CDLL(None).fflush(None)
    answer["launched"] = [library.kw_launch_name(at).decode() for at in range(library.kw_launches())]
    Path(sys.argv[2]).write_text(json.dumps(answer), encoding="utf-8")


def _emulated(library: Any, given: list[bytes], request: dict[str, Any]) -> dict[str, Any]:
    count = len(request["lines"])
    lines = (ctypes.c_int * max(count, 1))(*request["lines"])
    library.kw_hits.restype, library.kw_turns.restype = ctypes.POINTER(ctypes.c_ubyte), ctypes.POINTER(ctypes.c_int)
    library.kw_remarks.restype = ctypes.c_char_p
    library.kw_watch(lines, count)
    library.kw_begin(request["order"])
    status = library.kw_program(ctypes.cast(library.main, ctypes.c_void_p), len(given), _as_argv(given))
    hits, turns = library.kw_hits(), library.kw_turns()
    failure = library.kw_failure().decode(errors="replace")
    return {
        "status": status & 0xFF,
        "failure": "" if failure.startswith("the code ends its process with exit") else failure,
        "hits": [at for at in range(count) if hits[at]],
        "turns": [[at, turns[at]] for at in range(count) if turns[at] >= 0],
        "remarks": library.kw_remarks().decode(errors="replace"),
    }


def _on_gpu(library: Any, given: list[bytes], request: dict[str, Any]) -> dict[str, Any]:
    status = library.main(len(given), _as_argv(given))
    failure = library.kw_failure().decode(errors="replace")
    return {"status": status & 0xFF, "failure": failure, "hits": [], "turns": [], "remarks": ""}


def _as_argv(given: list[bytes]) -> Any:
    return (ctypes.c_char_p * (len(given) + 1))(*given)


if __name__ == "__main__":
    main()
