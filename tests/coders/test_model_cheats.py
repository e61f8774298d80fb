"""Every cheating candidate of the corpus as a model's answer: refused by a look at its text, or rejected by the gate."""

from pathlib import Path

import pytest
from corpus import Case, case, cases

from cheats.outcome import file_of
from kept import Lent
from kernelwright.coders.model import edited_by
from kernelwright.engine import Engine, Request
from kernelwright.journal import open_in_memory
from kernelwright.languages.python import SUPPORT
from kernelwright.macro.strategy import Example, Observation
from kernelwright.models.given import Given
from kernelwright.observer import Nothing
from kernelwright.prompting.action import answer_of
from kernelwright.settings import Settings
from kernelwright.values import CPU, Action, Kernel, Outcome, Refusal, Region, Step, digest

# Of those that a look at the text does not refuse, some of each kind; all of them meet the same gate in tests/cheats/.
SAMPLE = (
    "a14_timed_case_answered_by_a_constant",
    "a18_weights_folded_when_constructed",
    "b12_static_buffer",
    "b15_clamp_that_never_bites",
    "c06_only_square",
    "c09_gradient_lost",
    "c11_default_changed",
)


def kernel_of(text: str, entry: str) -> Kernel:
    return next(one for one in SUPPORT.kernels(text) if entry in (one.entry, one.name))


def looked_at(one: Case) -> tuple[str, str | Refusal]:
    """The blocks that turn the baseline into the candidate, and what the model's coder makes of them before anything runs."""
    before = file_of(one, one.baseline)
    answer = answer_of(Example(before, file_of(one, one.candidate)))
    observation = Observation("kernel.py", before, kernel_of(before, one.entry), None, CPU)
    return answer, edited_by(answer, observation)


def test_a_cheat_is_refused_or_is_what_the_gate_is_shown() -> None:
    """Nothing of it is lost on the way: what is not refused reaches the gate as the corpus has it."""
    found = {one.name: (one, looked_at(one)[1]) for one in cases("exploits")}
    refused = {name for name, (_, text) in found.items() if isinstance(text, Refusal)}
    shown = {name: (one, text) for name, (one, text) in found.items() if isinstance(text, str)}
    assert all(text.split() == file_of(one, one.candidate).split() for one, text in shown.values())
    assert len(refused) > 100
    assert set(SAMPLE) <= shown.keys()


@pytest.fixture(scope="module")
def workers() -> Lent:
    return Lent()


@pytest.mark.parametrize("name", SAMPLE)
async def test_a_cheat_that_the_gate_is_shown_is_rejected(name: str, workers: Lent, tmp_path: Path) -> None:
    one = case("exploits", name)
    answer, _ = looked_at(one)
    step = await answered(one, answer, workers, tmp_path)
    assert isinstance(step, Step), step
    assert step.outcome is Outcome.REJECTED
    ended = {check.name for check in step.verdict.failed_checks} if step.verdict is not None else set()
    assert ended & one.expected, step.reason


@pytest.mark.parametrize("name", ["a01_side_stream_not_joined", "a08_clocks_replaced", "a11_incremental_update"])
async def test_a_cheat_that_is_refused_never_runs(name: str, workers: Lent, tmp_path: Path) -> None:
    one = case("exploits", name)
    answer, refusal = looked_at(one)
    assert isinstance(refusal, Refusal)
    step = await answered(one, answer, workers, tmp_path)
    assert isinstance(step, Step), step
    assert (step.outcome, step.verdict, step.edits) == (Outcome.REJECTED, None, None)
    assert step.reason == refusal.reason


async def answered(one: Case, answer: str, workers: Lent, folder: Path) -> Step | Nothing:
    """The step that an answer comes to, asked for by name, which would be kept without a time."""
    text = file_of(one, one.baseline)
    kernel = kernel_of(text, one.entry)
    language = kernel.language.value
    rule = {"torch": "torch.rewrite.algorithm", "triton": "triton.rewrite.online-algorithm"}[language]
    action = Action(rule, Region(kernel.start_line, kernel.end_line, digest(text), kernel.name))
    engine = Engine(
        folder, Settings(timing_budget=0.05, model_rounds=1), workers=workers, journal=open_in_memory(folder)
    )
    coder = engine.coder(Given(answer))
    return await engine.optimize(Request(str(folder / "kernel.py"), text, kernel.name, action=action, coders=(coder,)))
