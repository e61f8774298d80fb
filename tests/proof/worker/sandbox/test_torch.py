"""Torch, Triton's interpreter, and compilers work in a confined process, and keep what they write in its folder."""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

import pytest

from kernelwright.proof.worker.sandbox import secrets
from kernelwright.values.confinement import Measure

# As the worker does it: torch is imported, then a process is forked, confined, and only then the user's code runs.
PROGRAM = """
    import json, os, runpy, sys, traceback
    from kernelwright.proof.worker import loop
    from kernelwright.proof.worker.sandbox.fence import confine
    loop.prepare("run")
    scratch, file, options = sys.argv[1:]
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            confinement = confine(scratch, descriptors=[writing], **json.loads(options))
            result = runpy.run_path(file)["result"]
            held = [restriction.measure for restriction in confinement.restrictions if restriction.held]
            os.write(writing, json.dumps([result, held]).encode())
        except BaseException:
            traceback.print_exc()
        os._exit(0)
    os.close(writing)
    print(os.read(reading, 1 << 16).decode())
    os.waitpid(pid, 0)
"""

TRITON = """
    import torch, triton, triton.language as tl

    @triton.jit
    def double(x, y, n, BLOCK: tl.constexpr):
        at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(y + at, 2 * tl.load(x + at, mask=at < n), mask=at < n)

    x = torch.arange(300.0, device="cuda" if torch.cuda.is_available() else "cpu")
    y = torch.empty_like(x)
    double[(3,)](x, y, 300, BLOCK=128)
    result = bool((y == 2 * x).all())
"""
INDUCTOR = """
    import torch
    x = torch.randn(64, 64)
    f = torch.compile(lambda x: torch.softmax(x.exp() + 1, -1))
    result = bool(torch.allclose(f(x), torch.softmax(x.exp() + 1, -1)))
"""
LOADER = """
    import torch
    data = torch.utils.data.TensorDataset(torch.arange(8.0))
    loader = torch.utils.data.DataLoader(data, batch_size=2, num_workers=2)
    result = sum(float(batch[0].sum()) for batch in loader) == 28.0
"""
INDUCTOR_ON_A_GPU = """
    import torch
    x = torch.randn(512, 512, device="cuda")
    f = torch.compile(lambda x: torch.softmax(x @ x, -1))
    result = bool(torch.allclose(f(x), torch.softmax(x @ x, -1), atol=1e-3))
"""
PINNED = """
    import torch
    x = torch.randn(1 << 20).pin_memory()
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        y = 2 * x.to("cuda", non_blocking=True)
    torch.cuda.synchronize()
    result = bool((y.cpu() == 2 * x).all())
"""
THREADS = """
    import torch
    torch.set_num_threads(4)
    a = torch.randn(512, 512, requires_grad=True)
    (a @ a).sum().backward()
    result = bool(torch.isfinite(a.grad).all())
"""
SAVED = """
    import tempfile, torch
    with tempfile.NamedTemporaryFile() as file:
        torch.save(torch.ones(3), file.name)
        result = bool((torch.load(file.name) == 1).all())
"""


@pytest.mark.parametrize(
    ("text", "left"),
    [(TRITON, ""), (INDUCTOR, "inductor/**/*.so"), (LOADER, ""), (THREADS, ""), (SAVED, "")],
    ids=["triton", "inductor", "loader", "threads", "saved"],
)
def test_what_runs_in_the_worker_runs_confined(text: str, left: str, tmp_path: Path) -> None:
    check(text, left, tmp_path, {})


@pytest.mark.gpu
@pytest.mark.parametrize("ipc", [False, True])
@pytest.mark.parametrize(
    ("text", "left"),
    [(TRITON, "triton/**/*.cubin"), (INDUCTOR_ON_A_GPU, "inductor/**/*.py"), (PINNED, "")],
    ids=["triton", "inductor", "pinned"],
)
def test_cuda_works_confined(text: str, left: str, ipc: bool, tmp_path: Path) -> None:
    check(text, left, tmp_path, {"ipc": ipc})


def check(text: str, left: str, folder: Path, options: dict[str, bool]) -> None:
    """`text` computes what it should in a process confined with `options`, and leaves files like `left` in its caches."""
    file = folder / "kernel.py"
    file.write_text(textwrap.dedent(text))
    home = folder / "home"  # of its own: whatever else runs beside this writes into the user's
    (home / ".triton" / "cache").mkdir(parents=True)
    before = written(home)
    # As short as the worker's own: multiprocessing makes sockets there, whose paths may have 107 characters.
    with tempfile.TemporaryDirectory(prefix="kernelwright-", ignore_cleanup_errors=True) as scratch:
        run = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(PROGRAM), scratch, str(file), json.dumps(options)],
            env=secrets.scrubbed({**os.environ, "HOME": str(home)}),
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert run.stdout.strip(), run.stderr
        right, held = json.loads(run.stdout)
        assert right
        assert {Measure.PRIVILEGES, Measure.ENVIRONMENT, Measure.LIMITS} <= set(held)
        assert not left or list(Path(scratch).glob(left))
    assert written(home) == before


def written(home: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in home.rglob("*")}
