"""What a judge sees of a process from outside: who works for it, and machine code that it has loaded."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import tree_sitter._binding

from kernelwright.proof.worker.hosts import outside

ECHO = "import sys\nfor line in sys.stdin:\n    print(line, end='', flush=True)\n"
HOST = f"""
import subprocess, sys
helper = subprocess.Popen([sys.executable, "-c", {ECHO!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
for line in sys.stdin:
    if line == "work\\n":
        helper.stdin.write("x\\n"); helper.stdin.flush(); helper.stdout.readline()
    if line == "start\\n":
        subprocess.run(["true"])
    print(line, end="", flush=True)
"""


@pytest.fixture
def host():
    with subprocess.Popen(
        [sys.executable, "-c", HOST], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as popen:
        asked(popen, "work")  # the helper is up
        yield popen
        popen.stdin.close()
        popen.wait()


def asked(popen: subprocess.Popen[str], what: str) -> None:
    popen.stdin.write(f"{what}\n")
    popen.stdin.flush()
    assert popen.stdout.readline() == f"{what}\n"


@pytest.mark.parametrize(
    ("what", "expected"),
    [("rest", ()), ("work", (os.path.basename(sys.executable),)), ("start", ("one that ended within the call",))],
)
def test_a_process_that_works_during_a_call(host: subprocess.Popen[str], what: str, expected: tuple[str, ...]) -> None:
    settled(host)
    before = outside.company(host.pid, 0)
    asked(host, what)
    assert outside.helpers(before, outside.company(host.pid, 0)) == expected


def settled(host: subprocess.Popen[str]) -> None:
    """Waits until the helper sleeps: after its answer it still has to go back to its next line."""
    while True:
        before = outside.company(host.pid, 0)
        if before.running and not outside.helpers(before, outside.company(host.pid, 0)):
            states = [Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] for pid in before.running]
            if states == ["S"]:
                return


def test_the_company_of_one_process_is_not_that_of_another() -> None:
    program = "import subprocess, sys; print(subprocess.Popen(['sleep', '60']).pid, flush=True); sys.stdin.read()"
    host = subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0
    )
    helper = int(host.stdout.readline())
    between = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    try:
        assert outside.company(host.pid, between.pid).running.keys() == {helper}
        assert outside.company(os.getpid(), 0).running.keys() >= {host.pid, helper, between.pid}
        assert outside.company(between.pid, 0).running == {}
    finally:
        os.kill(helper, signal.SIGKILL)
        for popen in (host, between):
            popen.stdin.close()
            popen.wait()
        host.stdout.close()


def test_machine_code_from_where_a_text_can_write(tmp_path: Path) -> None:
    library = tree_sitter._binding.__file__
    scratch = tmp_path / "kernelwright-host-x"
    cache = scratch / "triton" / "ab"
    cache.mkdir(parents=True)
    blob = shutil.copy(library, scratch / "blob.so")
    stub = shutil.copy(library, cache / "launcher.so")
    program = f"import ctypes, sys; ctypes.CDLL({str(blob)!r}); ctypes.CDLL({str(stub)!r}); print(); sys.stdin.read()"
    with subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as popen:
        popen.stdout.readline()
        (scratch / "blob.so").unlink()
        assert outside.loaded_code(popen.pid, str(scratch), Path("/nowhere")) == (("blob.so",), False)
        popen.stdin.close()
