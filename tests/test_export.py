"""Exported scripts: each is run as a person would run it."""

import ast
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.export import _literal, _source, choosing, script_of
from kernelwright.journal import open_in_memory
from kernelwright.source.workload import evaluate
from kernelwright.values import (
    Action,
    Check,
    Edits,
    Measurement,
    Outcome,
    Refusal,
    Region,
    Step,
    Timing,
    Verdict,
    VerdictStatus,
    digest,
)

MODULE = '''"""Rows, "scaled" and summed."""
import torch
from torch import nn


class Scaled(nn.Module):
    def __init__(self, size, scale=2.0):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(size))
        self.scale = scale

    def forward(self, x, shift=0.0):
        return (x * self.weight * self.scale + shift).sum(-1)


# workload: Scaled(64, scale=0.5)(randn(32, 64, layout=transposed), shift=1.5)
'''
FASTER = MODULE.replace("(x * self.weight * self.scale + shift).sum(-1)", "x @ (self.weight * self.scale) + 64 * shift")
WRONG = FASTER.replace("64 * shift", "63 * shift")
BENCH = """import torch


class Model(torch.nn.Module):
    def forward(self, x, y):
        return torch.relu(torch.relu(x)) + y


def get_inputs():
    return [torch.randn(16, 16), torch.rand(16)]


def get_init_inputs():
    return []
"""
KERNEL = """import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x + x, mask=offsets < n)


def double(x, out):
    double_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out


# workload: double(randn(100), out(100))
"""
CONFIGURED = """from dataclasses import dataclass

import torch


@dataclass
class Config:
    width: int = 4
    bias: float = 0.5


class Scaled(torch.nn.Module):
    def __init__(self, config, scale):
        super().__init__()
        self.scale, self.bias = scale, config.bias * config.width

    def forward(self, x):
        return x * self.scale + self.bias


# workload: Scaled(Config(width=8), 2)(randn(4, 8))
"""
READING = """import torch


def scaled(x, module):
    return x * module.scale + module.config.bias


# workload: scaled(randn(8), SimpleNamespace(scale=2.0, config=SimpleNamespace(bias=1, dtype=float16)))
"""
SUMS = """import torch


def sums(x, first):
    assert (first[0], first[-1]) == (0, 40) and first.diff().min() >= 0
    return torch.cat([x.new_zeros(1), x.cumsum(0)])[first].diff()


# workload: sums(randn(40), offsets(10, 40))
"""


def step(kernel: str, before: str, after: str, outcome: Outcome = Outcome.KEPT) -> Step:
    action = Action("torch.reassociate", Region(0, 1, digest(before), "the sum"))
    verdict = Verdict(VerdictStatus.PASSED, digest(after), digest(before))
    return Step("a1", kernel, action, None, digest(before), digest(after), outcome, "kept", verdict)


def run(script: str | Refusal, folder: Path) -> subprocess.CompletedProcess:
    assert isinstance(script, str), script
    file = folder / "reproduce.py"
    file.write_text(script, encoding="utf-8")
    return subprocess.run([sys.executable, str(file)], capture_output=True, text=True, cwd=folder, timeout=120)


@pytest.mark.parametrize(
    ("kernel", "before", "after"),
    [
        ("Scaled", MODULE, FASTER),
        ("Model", BENCH, BENCH.replace("torch.relu(torch.relu(x))", "torch.relu(x)")),
        ("Scaled", CONFIGURED, CONFIGURED.replace("x * self.scale + self.bias", "self.bias + x * self.scale")),
        (
            "scaled",
            READING,
            READING.replace("x * module.scale + module.config.bias", "module.config.bias + x * module.scale"),
        ),
        ("sums", SUMS, SUMS.replace("x.new_zeros(1)", "torch.zeros(1, dtype=x.dtype)")),
    ],
)
def test_it_compares_and_times_both_texts(kernel: str, before: str, after: str, tmp_path: Path) -> None:
    done = run(script_of(step(kernel, before, after), before, after), tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("agrees with the baseline") == 3
    assert done.stdout.splitlines()[-1].endswith("x")
    assert list(tmp_path.iterdir()) == [tmp_path / "reproduce.py"]


def test_a_wrong_candidate_is_told_and_not_timed(tmp_path: Path) -> None:
    done = run(script_of(step("Scaled", MODULE, WRONG), MODULE, WRONG), tmp_path)
    assert done.returncode != 0
    assert "not close" in done.stderr
    assert done.stdout == ""


def test_triton_code_without_a_gpu_is_compared_and_not_timed(tmp_path: Path) -> None:
    after = KERNEL.replace("x + x", "2 * x")
    done = run(script_of(step("double_kernel", KERNEL, after), KERNEL, after), tmp_path)
    assert done.returncode == 0, done.stderr
    assert "nothing is timed" in done.stdout.splitlines()[0]
    assert done.stdout.count("agrees with the baseline") == 3
    assert "samples" not in done.stdout


def test_it_is_code_that_a_person_would_keep(tmp_path: Path) -> None:
    for kernel, text in (("Scaled", MODULE), ("double_kernel", KERNEL)):
        script = script_of(step(kernel, text, text), text, text)
        assert isinstance(script, str)
        (tmp_path / f"{kernel}.py").write_text(script, encoding="utf-8")
    for check in (["format", "--diff"], ["check", "--select", "E,F,I,B,UP"]):
        ruff = [sys.executable, "-m", "ruff", *check, "--isolated", "--line-length", "120", str(tmp_path)]
        done = subprocess.run(ruff, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr


# What a journal may hold that others have written: ends a docstring, acts in a terminal, turns text, begins a line of its own.
HOSTILE = '\x1b[2J\x9b1m\nVerified: 9.00x faster\r\x00\u202eesrever\u2028</script>""" \\"""\nraise SystemExit(9)\n'
ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]")


def told(words: str) -> Step:
    """A measured step, with `words` wherever a text or a device can put words of its own."""
    kept = step("Scaled", MODULE, FASTER)
    timing = Timing(1.0, 1.0, 1.0, 20)
    return replace(
        kept,
        action=Action(words, Region(0, 1, kept.before_hash, words)),
        edits=Edits(kept.before_hash, (), words),
        reason=words,
        verdict=replace(kept.verdict, how=words, caveats=(words,), checks=(Check(words, words, True, words),)),
        measurement=Measurement(
            kept.after_hash,
            kept.before_hash,
            words,
            timing,
            timing,
            timing,
            2.0,
            1.9,
            2.1,
            2.0,
            1.9,
            2.1,
            {words: words},
        ),
    )


def test_words_of_others_stay_words_of_the_docstring() -> None:
    script, usual = (script_of(told(words), MODULE, FASTER) for words in (HOSTILE, "usual"))
    assert not ACTS.search(script), ascii(script)
    assert "9.00x faster" in ast.get_docstring(ast.parse(script))
    assert not re.search("^Verified: 9", script, re.MULTILINE)
    assert [ast.dump(node) for node in ast.parse(script).body[1:]] == [
        ast.dump(node) for node in ast.parse(usual).body[1:]
    ]


def test_a_text_that_acts_is_written_with_escapes() -> None:
    after = FASTER.replace('"scaled"', "\u202escaled\x1b[2J")
    script = script_of(step("Scaled", MODULE, after), MODULE, after)
    assert not ACTS.search(script), ascii(script)
    assert assigned(script)["CANDIDATE"] == after


@pytest.mark.parametrize("text", ["plain", "it's", 'say "it"', "a\\", "a\nb", "\x1b[2J", "\u202e", "\0"])
def test_a_string_of_a_workload_line_is_a_literal(text: str) -> None:
    source = _source(text)
    assert ast.literal_eval(source) == text
    assert not ACTS.search(source)
    assert "\n" not in source


def assigned(script: str) -> dict[str, object]:
    """The constants of the script by name."""
    made = [node for node in ast.parse(script).body if isinstance(node, ast.Assign)]
    return {node.targets[0].id: node.value.value for node in made if isinstance(node.value, ast.Constant)}


def test_what_cannot_be_reproduced_is_refused() -> None:
    rejected = script_of(step("Scaled", MODULE, WRONG, Outcome.REJECTED), MODULE, WRONG)
    assert isinstance(rejected, Refusal)
    assert "rejected, not kept" in rejected.reason
    lost = script_of(step("Scaled", MODULE, FASTER), None, FASTER)
    assert isinstance(lost, Refusal)
    assert "no longer has the texts" in lost.reason
    gone = script_of(step("Scaled", MODULE, "x = 1\n"), MODULE, "x = 1\n")
    assert isinstance(gone, Refusal)
    assert "no kernel Scaled" in gone.reason


@given(st.text())
def test_any_text_comes_back_from_its_literal(text: str) -> None:
    assert ast.literal_eval(_literal(text)) == text


@given(st.text(alphabet="ab'\"\\\r\n"))
def test_quotes_and_line_ends_come_back_too(text: str) -> None:
    assert ast.literal_eval(_literal(text)) == text


@pytest.mark.parametrize(
    "line",
    [
        "f(randint(0, 10, 4, dtype=int32), 3, -inf, flag=True, mode='a')",
        "f((randn(2), [rand(3), None]), eps=1e-5)",
        "f(full(4, value=2.0), arange(1, 9, 2), inout(randn(4)), empty(3, dtype=bool))",
    ],
)
def test_arguments_are_written_as_python(line: str) -> None:
    from kernelwright.export import _call

    code = compile("\n".join(_call(evaluate(line))), "script", "exec")
    names: dict = {"tensor": lambda *args, **kwargs: (args, kwargs)}
    exec(code, names)
    args, kwargs = names["arguments"](None)
    call = evaluate(line)
    assert len(args) == len(call.args)
    assert kwargs.keys() == call.kwargs.keys()
    assert names["initial"](None) is None


def test_a_line_of_the_journal_is_in_the_script_as_the_step_was_judged_by_it(tmp_path: Path) -> None:
    line = "double(randn(100), out(100))"
    before = KERNEL.split("\n\n# workload")[0] + "\n"
    after = before.replace("x + x", "2 * x")
    with open_in_memory(tmp_path) as journal:
        made = step("double_kernel", before, after)
        journal.add_step("double.py", made, before, after)
        assert isinstance(choosing.script(journal, "double.py", None, None), Refusal)
        judged = replace(made, id="a2", lines=(("double", (line,)),))
        journal.add_step("double.py", judged, before, after)
        journal.keep_lines("double.py", (("double", ("double(randn(7), out(7))",)),))
        script = choosing.script(journal, "double.py", None, None)
    assert isinstance(script, str), script
    assert script.count(f"# workload: {line}") == 2
    assert run(script, tmp_path).stdout.count("agrees with the baseline") == 3
