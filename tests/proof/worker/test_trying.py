"""Workload lines are called once: what runs, what does not and why, and that a crash or a hang costs no other lines."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kept import Lent
from kernelwright.proof.jobs import TriedLine, TriedLines, TryLines
from kernelwright.source.workload.suggest import suggest_lines
from kernelwright.values import Failure, FailureKind

TEXT = """\
import os
import time

import torch
import triton
import triton.language as tl


@triton.jit
def scale_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


def launched(x):
    assert x.is_cuda
    out = torch.empty_like(x, device="cuda")
    scale_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr = 64, KIND: tl.constexpr = tl.float32):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n).to(KIND), mask=at < n)


@triton.jit
def far_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr = 64):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    far = at + tl.where(tl.load(x_ptr + 9) > 0, 1 << 20, 0)
    tl.store(out_ptr + at, tl.load(x_ptr + far, mask=at < n), mask=at < n)


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return launched(x)

    @staticmethod
    def backward(ctx, gradient):
        out = torch.empty_like(gradient)
        copy_kernel[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](gradient, out, gradient.numel())
        return out


def scale(x, way="launch"):
    if way == "crash":
        os.abort()
    if way == "hang":
        time.sleep(60)
    if way == "slow":
        begun = time.process_time()
        while time.process_time() < begun + 1.0:
            pass
    if way == "other":
        return x * 2
    if way == "partly":
        return torch.cat((launched(x).flatten(), torch.empty(8)))
    n, m = x.shape
    assert m % 32 == 0, "rows of 32"
    return launched(x)
"""


Tried = Callable[..., TriedLines | Failure]


@pytest.fixture(scope="module")
def tried() -> Iterator[Tried]:
    """Asks the same worker for every test."""
    with asyncio.Runner() as runner:
        workers = Lent()

        def ask(
            *lines: str,
            kernels: tuple[str, ...] = ("scale_kernel",),
            text: str = TEXT,
            path: str = "/nowhere/scale.py",
            **more: Any,
        ) -> TriedLines | Failure:
            job = TryLines(path, text, lines, kernels, **{"seconds": 2.0, "budget": 7.0, **more})
            answer = runner.run(workers.run(job, timeout=120))
            assert isinstance(answer, TriedLines | Failure)
            return answer

        yield ask


def test_each_line_runs_or_says_why_not(tried: Tried) -> None:
    answer = tried(
        "scale(normal(7))",
        "scale(randn(7))",
        "scale(randn(8, 64), 'crash')",
        "scale(randn(24, 64), 'hang')",
        "scale(randn(8, 64), 'other')",
        "scale(randn(8, 64))",
        "scale(randn(16, 64))",
    )
    assert isinstance(answer, TriedLines), answer
    unread, wrong, crashed, hung, other, backward, ran = answer.lines
    assert unread.reason.startswith("The workload line cannot be used: ")
    assert "not enough values to unpack" in wrong.reason
    assert "abort" in crashed.reason.lower()
    assert hung.reason == "The code did not come back within 2 s"
    assert other.reason == "it launches no scale_kernel"
    assert backward.reason == other.reason, "nor with gradients, which are asked for once"
    assert ran == TriedLine("scale(randn(8, 64))", "", ("scale_kernel",))
    assert answer.ran == ("scale(randn(8, 64))",), "and no more lines are tried than are needed"


def test_a_line_that_does_not_repeat_itself_is_the_last_choice(tried: Tried) -> None:
    answer = tried("scale(randn(8, 64), 'partly')", "scale(randn(16, 64))")
    assert isinstance(answer, TriedLines), answer
    assert answer.ran == ("scale(randn(16, 64))",)
    assert answer.reasons == ("called again with other memory, or tuned otherwise, it does not come to the same",)
    answer = tried("scale(randn(8, 64), 'partly')", "scale(randn(7))")
    assert isinstance(answer, TriedLines), answer
    assert answer.ran == ("scale(randn(8, 64), 'partly')",)
    itself = "scale_kernel[(1,)](randn(64), out(64), 64, BLOCK=64)"
    answer = tried("scale(randn(8, 64), 'partly')", launches={"scale_kernel": (itself,)})
    assert isinstance(answer, TriedLines), answer
    assert answer.ran == (itself,), "nor does it come before a launch of the kernel itself"


def test_a_line_that_takes_long_is_the_last_choice_but_one(tried: Tried) -> None:
    """The gate makes dozens of calls, and has not the time for them."""
    slow, partly = "scale(randn(8, 64), 'slow')", "scale(randn(8, 64), 'partly')"
    answer = tried(slow, "scale(randn(16, 64))", seconds=9.0, budget=40.0)
    assert isinstance(answer, TriedLines), answer
    assert answer.ran == ("scale(randn(16, 64))",)
    assert answer.reasons[0].startswith("one call of it takes 1.")
    answer = tried(partly, slow, seconds=9.0, budget=40.0)
    assert isinstance(answer, TriedLines), answer
    assert answer.ran == (slow,)


def test_a_launch_that_does_not_repeat_itself_is_no_choice(tried: Tried) -> None:
    """Programs that take numbers get others where the last one comes first, as in the interpreter's second call."""
    text = TEXT.replace("tl.load(x_ptr + at, mask=at < n) * 2", "tl.atomic_add(x_ptr, 1.0)")
    answer = tried("scale_kernel[(2,)](zeros(1), out(128), 128, BLOCK=64)", text=text)
    assert isinstance(answer, TriedLines), answer
    assert answer.ran == ()
    assert answer.reasons == ("called again with other memory, or tuned otherwise, it does not come to the same",)


def test_a_launch_has_to_do_for_all_configurations(tried: Tried) -> None:
    """Programs that are enough for large blocks leave memory unwritten with smaller ones."""
    configurations = ", ".join(f"triton.Config({{'BLOCK': {n}}})" for n in (64, 64, 64, 64, 64, 64, 16))
    tuned = f"@triton.autotune(configs=[{configurations}], key=[])\n@triton.jit\ndef scale_kernel"
    text = TEXT.replace("@triton.jit\ndef scale_kernel", tuned)
    answer = tried(*(f"scale_kernel[({n},)](randn(128), out(128), 128)" for n in (2, 8)), text=text)
    assert isinstance(answer, TriedLines), answer
    assert answer.ran == ("scale_kernel[(8,)](randn(128), out(128), 128)",)


def test_a_launch_has_to_do_for_configurations_that_are_kept(tried: Tried) -> None:
    """Each process keeps what its first call was tuned to, as decorators of some libraries do."""
    kept = """
class Kept(triton.KernelInterface):
    def __init__(self, tuned):
        self.tuned, self.fn, self.chosen = tuned, tuned.fn, None

    def run(self, *args, grid, warmup):
        if self.chosen:
            return self.fn[grid](*args, **self.chosen)
        self.tuned[grid](*args)
        self.chosen = self.tuned.best_config.kwargs


@Kept
@triton.autotune(configs=[triton.Config({'BLOCK': n}) for n in (64, 64, 128)], key=[])
@triton.jit
def scale_kernel"""
    text = TEXT.replace("@triton.jit\ndef scale_kernel", kept).replace(
        "x_ptr + at, mask=at < n) * 2", "x_ptr + at) * 2"
    )
    answer = tried("scale_kernel[(2,)](randn(128), out(128), 128)", text=text)
    assert isinstance(answer, TriedLines), answer
    assert answer.ran == ()
    assert answer.reasons[0].startswith("with another configuration, Out of bounds: load from x_ptr")


def test_a_line_has_to_run_on_other_data(tried: Tried) -> None:
    """By the first seed element 9 of randn is negative, by the second it is positive."""
    lines = "far_kernel[(1,)](randn(64), out(64), 64)", "far_kernel[(1,)](zeros(64), out(64), 64)"
    answer = tried(*lines, kernels=("far_kernel",))
    assert isinstance(answer, TriedLines), answer
    assert answer.ran == lines[1:]
    assert answer.reasons[0].startswith("on other data, Out of bounds: load from ")


def test_a_launch_of_no_programs_reaches_no_kernel(tried: Tried) -> None:
    answer = tried("launched(zeros(0))")
    assert isinstance(answer, TriedLines), answer
    assert [line.reason for line in answer.lines] == ["it launches no scale_kernel"]


def test_sizes_are_as_the_gate_has_them(tried: Tried) -> None:
    """Few for the interpreter, but as written where that does not run, as long as it bears them."""
    text = TEXT.replace("assert m % 32 == 0", "assert m >= 512 and n * m < 1 << 20")
    answer = tried("scale(randn(8192, 8192))", "scale(randn(64, 512))", text=text)
    assert isinstance(answer, TriedLines), answer
    assert [bool(line.reason) for line in answer.lines] == [True, False]


def test_a_kernel_of_the_backward_is_reached_with_gradients(tried: Tried) -> None:
    answer = tried("Scale.apply(randn(8, 64))", kernels=("scale_kernel", "copy_kernel"))
    assert isinstance(answer, TriedLines), answer
    assert [(line.line, line.launched) for line in answer.lines] == [
        ("Scale.apply(randn(8, 64))", ("scale_kernel",)),
        ("Scale.apply(randn(8, 64, requires_grad=True))", ("copy_kernel",)),
    ]


def test_lines_that_run_call_one_function(tried: Tried) -> None:
    """The workload of a kernel is the lines that call one function: what others launch, nobody verifies with them."""
    text = (
        TEXT
        + """

def copied(x):
    out = torch.empty_like(x)
    copy_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel())
    return out


def both(x):
    return launched(x), copied(x)
"""
    )
    kernels = "scale_kernel", "copy_kernel"
    answer = tried("launched(randn(64))", "copied(randn(64))", kernels=kernels, text=text)
    assert isinstance(answer, TriedLines), answer
    assert answer.ran == ("launched(randn(64))",)
    answer = tried("launched(randn(64))", "both(randn(64))", kernels=kernels, text=text)
    assert isinstance(answer, TriedLines), answer
    assert answer.ran == ("both(randn(64))",)
    assert "lines that call both launch more kernels, or come first" in answer.reasons


def test_a_constructor_that_is_inherited_from_elsewhere_is_asked_for(tried: Tried) -> None:
    """What torch.nn.Softmin takes stands in no text: the class says it."""
    text = f"""{TEXT}

class Least(torch.nn.Softmin):
    def forward(self, x):
        assert self.dim == -1, "the last dimension alone"
        return launched(x)


class Wide(torch.nn.Linear):
    def forward(self, x):
        assert x.shape[1] == self.in_features
        return launched(x)
"""
    answer = tried("Least()(randn(8, 64))", text=text)
    assert isinstance(answer, TriedLines), answer
    assert answer.ran == ("Least(dim=-1)(randn(4096, 1024))",)
    answer = tried("Wide()(randn(8, 64))", text=text)
    assert isinstance(answer, TriedLines), answer
    assert answer.ran == ("Wide(1024, 1024)(randn(4096, 1024))",)


def test_a_constructor_is_given_a_configuration(tried: Tried) -> None:
    text = f"""{TEXT}

class WideConfig:
    def __init__(self, hidden_size=64, name=None):
        self.hidden_size, self.name = hidden_size, name


class Wide(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(config.hidden_size))

    def forward(self, x):
        n, m = x.shape
        return launched(x * self.weight)
"""
    lines = suggest_lines(text, "Wide")
    assert isinstance(lines, tuple)
    answer = tried(*(line.removeprefix("# workload: ") for line in lines), text=text)
    assert isinstance(answer, TriedLines), answer
    assert answer.ran == ("Wide(WideConfig(hidden_size=1024))(randn(4096, 1024))",)


def test_attention_is_given_a_mask_of_its_scores(tried: Tried) -> None:
    text = f"""{TEXT}

class Attention(torch.nn.Module):
    def forward(self, hidden_states, attention_mask: torch.Tensor):
        b, t, d = hidden_states.shape
        heads = hidden_states.view(b, t, 16, d // 16).transpose(1, 2)
        scores = heads @ heads.transpose(2, 3) + attention_mask
        return launched(scores.softmax(-1) @ heads)
"""
    lines = suggest_lines(text, "Attention")
    assert isinstance(lines, tuple)
    answer = tried(*(line.removeprefix("# workload: ") for line in lines), text=text)
    assert isinstance(answer, TriedLines), answer
    assert answer.ran == ("Attention()(randn(8, 512, 1024), randn(8, 1, 512, 512))",)


def test_a_kernel_that_no_line_launches_is_launched_itself(tried: Tried) -> None:
    own = {
        "scale_kernel": ("scale_kernel[(1,)](randn(64), out(64), 64, BLOCK=64)",),
        "copy_kernel": ("copy_kernel[(2,)](randn(64), out(64), 64, 0)", "copy_kernel[(1,)](randn(64), out(64), 64)"),
    }
    answer = tried("scale(randn(8, 64))", kernels=("scale_kernel", "copy_kernel"), launches=own)
    assert isinstance(answer, TriedLines), answer
    assert answer.ran == ("scale(randn(8, 64))", "copy_kernel[(1,)](randn(64), out(64), 64)")
    assert [line.launched for line in answer.lines if not line.reason] == [("scale_kernel",), ("copy_kernel",)]


def test_launches_of_another_file_are_written(tried: Tried, tmp_path: Path) -> None:
    """Memory that arguments share as if it were each one's own; what is only written is told by a second call, on NaN."""
    kernels, layers = tmp_path / "kernels.py", tmp_path / "layers.py"
    kernels.write_text(TEXT)
    text = """\
import torch
from kernels import copy_kernel, scale_kernel


def twice(x):
    out = torch.empty_like(x)
    copy_kernel[lambda meta: (-(-x.numel() // meta["BLOCK"]),)](x, out, x.numel(), BLOCK=32)
    scale_kernel[(1,)](x, x, 1, BLOCK=16)
    return out
"""
    names = ("copy_kernel", "scale_kernel")
    answer = tried("twice(randn(100))", text=text, path=str(layers), kernels=names, written=str(kernels))
    assert isinstance(answer, TriedLines), answer
    written = answer.lines[
        0
    ].written  # the first call may find NaN in fresh memory as well, and no line is written twice
    assert "scale_kernel[(1,)](randn(100), randn(100), 1, BLOCK=16)" in written
    assert "copy_kernel[(4,)](randn(100), out(100), 100, BLOCK=32)" in written


def test_a_launch_takes_dtypes(tried: Tried) -> None:
    answer = tried("copy_kernel[(1,)](randn(8), out(8), 8, KIND=float16)", kernels=("copy_kernel",))
    assert isinstance(answer, TriedLines), answer
    assert [line.reason for line in answer.lines] == [""]


def test_the_time_for_all_lines_is_bounded(tried: Tried) -> None:
    answer = tried(*(f"scale(randn({n}, 64), 'hang')" for n in range(8, 18)))
    assert isinstance(answer, TriedLines), answer
    assert answer.ran == ()
    assert answer.lines[-1].reason == "there was no time left for it in 7 s"


def test_a_line_that_hangs_leaves_time_for_other_sizes(tried: Tried) -> None:
    hanging = (f"scale(randn(8, 64), {way})" for way in ("'hang'", "'ha' 'ng'", "way='hang'", "way='ha' 'ng'"))
    answer = tried(*hanging, "scale(randn(16, 64))")
    assert isinstance(answer, TriedLines), answer
    assert answer.ran == ("scale(randn(16, 64))",)
    assert len(answer.lines) == 2


@pytest.mark.parametrize(
    ("head", "kind", "words"),
    [
        ("import no_such_package\n", FailureKind.MISSING_PACKAGE, "no_such_package"),
        ("raise ValueError('at import')\n", FailureKind.IMPORT_FAILED, "at import"),
    ],
)
def test_a_text_that_cannot_be_loaded(tried: Tried, head: str, kind: FailureKind, words: str) -> None:
    answer = tried("scale(randn(8, 64))", text=head + TEXT)
    assert isinstance(answer, Failure)
    assert answer.kind is kind
    assert words in answer.message


def test_without_kernels_one_line_that_runs_is_enough(tried: Tried) -> None:
    answer = tried("scale(randn(7), 'hang')", "scale(randn(8, 8), 'other')", "scale(randn(8, 64))", kernels=())
    assert isinstance(answer, TriedLines), answer
    assert answer.ran == ("scale(randn(8, 8), 'other')",)


ROWS = """\
import triton
import triton.language as tl


@triton.jit
def rows_kernel(x_ptr, out_ptr, stride, rows, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    if row < rows:
        at = row * stride + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + at)
        tl.store(out_ptr + at, x / tl.sum(x))


@triton.jit
def first_kernel(x_ptr, out_ptr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    if tl.program_id(0) == 0:
        tl.store(out_ptr + at, tl.load(x_ptr + at) * 2)
"""


@pytest.mark.parametrize(
    ("kernel", "line", "larger"),
    [
        ("scale_kernel", "scale(randn(8, 64))", "scale(randn(65536, 64))"),
        (
            "scale_kernel",
            "scale_kernel[(64,)](randn(64, 64), out(64, 64), 4096, BLOCK=64)",
            "scale_kernel[(65536,)](randn(65536, 64), out(65536, 64), 65536 * 64, BLOCK=64)",
        ),
        (
            "rows_kernel",
            "rows_kernel[(64,)](randn(64, 64), out(64, 64), 64, 64, 64, BLOCK=64)",
            "rows_kernel[(65536,)](randn(65536, 64), out(65536, 64), 64, 65536, 64, BLOCK=64)",
        ),
    ],
)
def test_a_line_that_ran_is_made_larger_where_the_call_then_writes_more(
    tried: Tried, kernel: str, line: str, larger: str
) -> None:
    text, own = (ROWS, "rows.py") if kernel == "rows_kernel" else (TEXT, "scale.py")
    asked: dict[str, Any] = {"text": text, "path": f"/nowhere/{own}", "kernels": (kernel,)}
    answer = tried(line, **asked, larger_budget=20.0)
    assert answer == TriedLines((TriedLine(larger, "", (kernel,), (), line),))
    assert tried(line, **asked) == TriedLines((TriedLine(line, "", (kernel,)),)), "nobody asked for it"


def test_more_programs_that_do_nothing_make_no_line_larger(tried: Tried) -> None:
    line = "first_kernel[(64,)](randn(64, 64), out(64, 64), BLOCK=64)"
    answer = tried(line, text=ROWS, path="/nowhere/rows.py", kernels=("first_kernel",), larger_budget=20.0)
    assert answer == TriedLines((TriedLine(line, "", ("first_kernel",)),))
