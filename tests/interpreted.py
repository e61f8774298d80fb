"""Programs in Triton's interpreter: each in a process of its own, forked off one that has imported torch and Triton."""

import atexit
import functools
import json
import os
import runpy
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kernelwright import wire
from kernelwright.proof.jobs import Trial, TrialResult

_PATIENCE = 300  # seconds


def interpreted(program: Path, *arguments: str, given: str = "", cwd: Path | None = None) -> str:
    """What the program says on stdout where it is `given` this on stdin. It must end well."""
    with tempfile.TemporaryDirectory() as folder:
        files = [str(Path(folder, name)) for name in ("stdin", "stdout", "stderr")]
        Path(files[0]).write_text(given, encoding="utf-8")
        warm = _warm()
        assert warm.stdin
        assert warm.stdout
        request = {"files": files, "argv": [str(program), *arguments], "cwd": str(cwd or Path.cwd())}
        print(json.dumps(request), file=warm.stdin, flush=True)
        if not select.select([warm.stdout], [], [], _PATIENCE)[0]:
            _warm.cache_clear()
            os.killpg(warm.pid, signal.SIGKILL)
            raise TimeoutError(f"{program} did not end within {_PATIENCE} s")
        status = warm.stdout.readline().strip()
        assert status == "0", f"{program} ended with {status or 'its parent'}: {Path(files[2]).read_text()[-3000:]}"
        return Path(files[1]).read_text(encoding="utf-8")


def judged(trials: Sequence[Trial]) -> list[TrialResult]:
    """What the gate says in Triton's interpreter."""
    given = "".join(json.dumps(wire.encode(trial)) + "\n" for trial in trials)
    said = interpreted(Path(__file__).parent / "cheats" / "in_interpreter.py", given=given)
    results = [wire.decode(TrialResult, json.loads(line)) for line in said.splitlines()]
    assert len(results) == len(trials)
    return results


@functools.cache
def _warm() -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TRITON_INTERPRET": "1"},
        process_group=0,
    )
    atexit.register(process.communicate)  # its stdin ends, and so does it
    return process


def _serve() -> None:
    import torch.testing  # noqa: F401  (which Triton does not import, and each program would, for two seconds)
    import triton.language  # noqa: F401

    from kernelwright.proof.worker.interpreter import hardened, shortcuts  # noqa: F401  (some programs install the former)

    shortcuts.install()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            _run(**json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


def _run(files: list[str], argv: list[str], cwd: str) -> None:
    for number, (name, mode) in enumerate(zip(files, ("r", "w", "w"), strict=True)):
        stream = open(name, mode, encoding="utf-8")  # noqa: SIM115  (the process's own, until its end)
        os.dup2(stream.fileno(), number)
        setattr(sys, ("stdin", "stdout", "stderr")[number], stream)
    os.chdir(cwd)
    sys.argv, sys.path[0] = argv, str(Path(argv[0]).parent)
    try:
        runpy.run_path(argv[0], run_name="__main__")
    except BaseException:  # noqa: BLE001  (what a program raises is told)
        sys.excepthook(*sys.exc_info())
        code = 1
    else:
        code = 0
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _serve()
