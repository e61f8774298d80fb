"""A model proposes workload lines where no guess ran; only those that a worker has seen run are offered."""

import asyncio
import json
import re
from pathlib import Path

from kept import Lent
from kernelwright.engine import Engine
from kernelwright.entries import recorded
from kernelwright.inferring import Inferred, _rest
from kernelwright.journal import open_in_memory
from kernelwright.languages.cuda import SUPPORT as CUDA
from kernelwright.models.replay import Replay
from kernelwright.observer import Nothing
from kernelwright.proof.jobs import TriedLine, TriedLines, TryLines
from kernelwright.recording import Entry, Recorded
from kernelwright.settings import Settings
from kernelwright.values import Failure

TEXT = """\
import torch

MODES = {"a" + str(7 * 6): 2.0}


def scaled(x, mode):
    return torch.relu(x) * MODES[mode]
"""


def inferred(folder: Path, *replies: str) -> tuple[Inferred | Nothing, list[str], int]:
    """What `infer` came to with these answers of a model, what was reported, and how often the model was asked."""
    log, told = folder / "log.jsonl", []
    log.write_text("".join(json.dumps({"reply": reply}) + "\n" for reply in replies))

    async def body() -> tuple[Inferred | Nothing, int]:
        engine = Engine(folder, Settings(), Lent(), provider=Replay(log))
        try:
            answer = await engine.infer(str(folder / "modes.py"), TEXT, "scaled", report=told.append)
            return answer, engine.journal.spent_today().calls
        finally:
            await engine.close()

    answer, calls = asyncio.run(body())
    return answer, told, calls


def test_lines_of_a_model_that_run_are_offered_and_others_are_not(tmp_path: Path) -> None:
    reply = """\
The mode is a42.

# workload: scaled(randn(4096, 1024), "a42")
# workload: scaled(randn(7, 3), "b42")
# workload: scaled(randn(5), "a42")
# workload: scaled(__import__("os"), "a42")
"""
    answer, _, calls = inferred(tmp_path, reply)
    assert isinstance(answer, Inferred), answer
    assert answer.lines
    assert set(answer.lines) <= {
        '# workload: scaled(randn(4096, 1024), "a42")',
        '# workload: scaled(randn(5), "a42")',
    }
    assert calls == 1


def test_an_answer_without_lines_is_told_and_the_guesses_stay(tmp_path: Path) -> None:
    answer, told, calls = inferred(tmp_path, "I cannot tell.")
    assert not isinstance(answer, Failure)
    assert not (isinstance(answer, Inferred) and answer.lines)
    assert "The model's answer has no line that begins with `# workload:`." in told
    assert calls == 1


KERNELS = """\
import triton
import triton.language as tl


@triton.autotune([triton.Config({"BLOCK": size}) for size in (64, 32)], key=["n"])
@triton.jit
def power_kernel(x_ptr, out_ptr, n, power: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if power == 2:
        x = tl.load(x_ptr + at, mask=at < n)
        y = x * x
    if power == 3:
        x = tl.load(x_ptr + at, mask=at < n)
        y = x * x * x
    tl.store(out_ptr + at, y, mask=at < n)
"""
LAYERS = """\
import torch
import triton

from kernels import power_kernel


class Square(torch.nn.Module):
    def forward(self, x):
        out = torch.empty_like(x)
        power_kernel[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel(), 2)
        return out
"""


def _inferred(folder: Path, layers: str) -> str:
    """The one line for the kernel of a file that `layers` imports."""
    kernels = folder / "kernels.py"
    kernels.write_text(KERNELS)
    (folder / "layers.py").write_text(layers)

    async def body() -> Inferred | Nothing:
        engine = Engine(folder, Settings(), Lent(), open_in_memory(folder))
        try:
            return await engine.infer(str(kernels), KERNELS, "power_kernel")
        finally:
            await engine.close()

    answer = asyncio.run(body())
    assert isinstance(answer, Inferred), answer
    (line,) = answer.lines
    return line


def test_what_other_files_launch_a_kernel_with_becomes_a_line(tmp_path: Path) -> None:
    line = _inferred(tmp_path, LAYERS)
    assert re.fullmatch(
        r"# workload: power_kernel\[\(\d+ \* 2,\)\]\(randn\((\d+), 64\), out\(\1, 64\), \1 \* 64, 2\)", line
    ), line


def test_the_workload_lines_of_other_files_come_before_guesses(tmp_path: Path) -> None:
    layers = LAYERS.replace("class Square", "# workload: Square()(randn(5, 37))\nclass Square")
    line = _inferred(tmp_path, layers)
    assert re.fullmatch(r"# workload: power_kernel\[\(\d+,\)\]\(randn\(5, 37\), out\(5, 37\), 185, 2\)", line), line


def test_kernels_that_no_line_launches_are_told() -> None:
    found = Inferred(("# workload: f(randn(2))",), 3, ("it fails",), ("other_kernel",))
    assert found.sentence("f") == "A workload line for f ran. None launched other_kernel."
    entry = Entry("f.py", "f", ("kernel", "other_kernel"), "function", 0, 1)
    assert recorded(entry, found) == Recorded(entry, ("f(randn(2))",), 3, (), ("other_kernel",))


COUNTS = """\
import torch
import triton
import triton.language as tl


@triton.jit
def total_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], dtype=tl.int32)
    for start in range(0, n, BLOCK):
        at = start + tl.arange(0, BLOCK)
        total += tl.load(x_ptr + at, mask=at < n, other=0)
    tl.store(out_ptr, tl.sum(total, axis=0))


def total(x):
    out = torch.empty(1, dtype=torch.int32, device=x.device)
    total_kernel[(1,)](x, out, x.numel(), BLOCK=64)
    return out
"""


def test_a_line_whose_kernels_no_gpu_compiles_is_not_offered(tmp_path: Path) -> None:
    """Triton's interpreter adds numbers of any type in the loop."""

    async def body() -> Inferred | Nothing:
        engine = Engine(tmp_path, Settings(), Lent(), open_in_memory(tmp_path))
        try:
            return await engine.infer(str(tmp_path / "total.py"), COUNTS, "total_kernel")
        finally:
            await engine.close()

    answer = asyncio.run(body())
    assert isinstance(answer, Inferred), answer
    assert any("total_kernel does not compile at line 9: AssertionError" in one for one in answer.refused), answer
    assert answer.lines == ()


def test_the_second_round_has_what_was_not_tried() -> None:
    job = TryLines("f.py", "", ("f(1)", "f(2)", "f(3)"), ("kernel",), launches={"kernel": ("kernel[(1,)](1)",)})
    left = _rest(job, TriedLines((TriedLine("f(1)", "raises"), TriedLine("f(2)"))))
    assert (left.lines, left.launches) == (("f(3)",), {"kernel": ("kernel[(1,)](1)",)})
    assert _rest(left, TriedLines((TriedLine("kernel[(1,)](1)"),))).launches == {"kernel": ()}
    assert _rest(left, TriedLines((TriedLine("f(96)", smaller="f(3)"),))).lines == (), "nor what was made larger"


TILES = """\
template <int TILE> __global__ void tiles(const float* x, float* y, int n) {
  if (blockDim.x != TILE) __trap();
  int i = blockIdx.x * TILE + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
"""


def test_a_kernel_is_launched_as_another_file_of_the_workspace_does(tmp_path: Path) -> None:
    header = tmp_path / "kernels" / "tiles.cuh"
    header.parent.mkdir()
    header.write_text(TILES)
    runner = "void run(const float* a, float* b, int size) { tiles<96><<<(size + 95) / 96, 96>>>(a, b, size); }\n"
    (tmp_path / "runner.cu").write_text(runner)

    async def body() -> Inferred | Nothing:
        engine = Engine(tmp_path, Settings(), Lent())
        try:
            return await engine.infer(str(header), TILES, "tiles", support=CUDA)
        finally:
            await engine.close()

    answer = asyncio.run(body())
    assert isinstance(answer, Inferred), answer
    assert answer.lines
    assert all("tiles<96><<<(n + 95) / 96, 96>>>" in one for one in answer.lines)


UNREADY = """\
static bool ready = false;
__global__ void first(const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = 2.0f * x[i];
}
__global__ void second(float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] += 1.0f;
}
void run(const float* x, float* y, int n) {
  if (!ready) return;
  first<<<(n + 63) / 64, 64>>>(x, y, n);
  second<<<(n + 31) / 32, 32>>>(y, n);
}
"""


def inferred_of_cuda(file: Path, text: str, kernel: str) -> Inferred:
    """What comes of a kernel of a CUDA file that is written first."""
    file.write_text(text)

    async def body() -> Inferred | Nothing:
        engine = Engine(file.parent, Settings(), Lent())
        try:
            return await engine.infer(str(file), text, kernel, support=CUDA)
        finally:
            await engine.close()

    answer = asyncio.run(body())
    assert isinstance(answer, Inferred), answer
    return answer


def test_kernels_are_launched_themselves_where_what_launches_them_does_not(tmp_path: Path) -> None:
    answer = inferred_of_cuda(tmp_path / "unready.cu", UNREADY, "first")
    launched = {line.partition("(x=")[0].partition("(y=")[0] for line in answer.lines}
    assert launched == {
        "// workload: first<<<(n + 63) / 64, 64>>>",
        "// workload: second<<<(n + 31) / 32, 32>>>",
    }
    assert not answer.unreached
    kernels = CUDA.kernels("\n".join((*answer.lines, UNREADY)))
    assert [one.entry for one in kernels] == ["first", "second"]


def test_a_kernel_that_no_line_of_its_launcher_comes_to_is_launched_itself(tmp_path: Path) -> None:
    """Which of the two runs hangs on a number that nobody guesses."""
    text = UNREADY.replace("  if (!ready) return;\n  first", "  if (n != 77) first")
    text = text.replace("  second<<<", "  else second<<<")
    answer = inferred_of_cuda(tmp_path / "either.cu", text, "first")
    assert not answer.unreached
    assert answer.lines[0].startswith("// workload: run(x=")
    assert answer.lines[-1].startswith("// workload: second<<<(n + 31) / 32, 32>>>(y=")
    kernels = CUDA.kernels("\n".join((*answer.lines, text)))
    assert [one.entry for one in kernels] == ["run", "second"]
