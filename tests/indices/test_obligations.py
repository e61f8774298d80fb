"""What a rewrite of a kernel owes: a counterexample is told, a right rewrite never refused."""

import asyncio

import pytest

from indices.snippets import AT as INDEX
from kernelwright.examining import counterexample as asked
from kernelwright.indices.asking import Solver
from kernelwright.indices.obligations import counterexample
from kernelwright.languages.cuda.workloads import lines_in
from kernelwright.macro.strategies import registry
from kernelwright.macro.strategy import Strategy
from kernelwright.values import Refusal

LINE = "run(x=randn(n), y=out(n), n=1000)"


def text(body: str, launch: str = "kernel<<<(n + 255) / 256, 256>>>(x, y, n);", line: str = LINE) -> str:
    """A kernel and the function that launches it."""
    signature = "const float* x, float* y, int n"
    kernel = f"__global__ void kernel({signature}) {{ {body} }}"
    return f'{kernel}\n// workload: {line}\nextern "C" void run({signature}) {{ {launch} }}\n'


BEFORE = text(f"{INDEX} if (i < n) y[i] = 2.0f * x[i];")
FOURS = "int i = 4 * (blockIdx.x * blockDim.x + threadIdx.x);"
LAUNCH = "kernel<<<(n / 4 + 255) / 256, 256>>>(x, y, n);"

EACH = "for (int k = 0; k < 4; ++k) y[i + k] = 2.0f * x[i + k];"
ONE = "y[i] = 2.0f * x[i];"

# What is wrong with the rewrite, with words of the sentence.
WRONG = {
    "four at once beyond the end": (text(f"{FOURS} {EACH}", LAUNCH), "y[1000]"),
    "no tail": (
        text(f"{FOURS} if (i + 3 < n) {EACH}", LAUNCH, LINE.replace("1000", "1002")),
        "no thread of the rewritten text writes y[1001], which block 3, thread 233 of the baseline does.",
    ),
    "a grid too small": (
        text(f"{INDEX} if (i < n) {ONE}", "kernel<<<n / 256, 256>>>(x, y, n);"),
        "writes y[999], which",
    ),
    "a stride too long": (
        text(f"{INDEX} for (; i < n; i += 4 * blockDim.x) {ONE}", "kernel<<<1, 256>>>(x, y, n);"),
        "writes y[999], which block 3, thread 231 of the baseline does.",
    ),
    "threads that meet": (
        text("int i = blockIdx.x * 128 + threadIdx.x; if (i < n) y[i] = x[i] + blockIdx.x;"),
        "both write y[",
    ),
    "without the first": (
        text(f"{INDEX} if (i > 0 && i < n) {ONE}"),
        "writes y[0], which block 0, thread 0 of the baseline",
    ),
    "another order": (text(f"{INDEX} if (i < n) y[n - i] = 2.0f * x[i];"), "y[1000] of 1000"),
}

RIGHT = {
    "four at once": text(
        f"{FOURS} if (i + 3 < n) {EACH} else for (; i < n; ++i) {ONE}", LAUNCH.replace("n / 4", "(n + 3) / 4")
    ),
    "a stride": text(f"{INDEX} for (; i < n; i += blockDim.x * gridDim.x) {ONE}", "kernel<<<2, 128>>>(x, y, n);"),
    "the other way round": text(f"{INDEX} if (i < n) y[n - 1 - i] = 2.0f * x[n - 1 - i];"),
    "two launches": text(
        f"{INDEX} if (i < n) {ONE}", "kernel<<<2, 256>>>(x, y, n); kernel<<<(n + 255) / 256, 256>>>(x, y, n);"
    ),
    "what is not modelled": text(f"{INDEX} if (x[0] > 0.0f) y[(int)x[i]] = 1.0f;"),
    "memory set by the launcher": text(
        f"{INDEX} if (i < 9) {ONE}", "cudaMemset(y, 0, n); kernel<<<2, 256>>>(x, y, n);"
    ),
}


def found(before: str, after: str) -> str | None:
    return counterexample(before, after, [case.text for case in lines_in(after)], Solver(20))


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rewrite_has_a_counterexample(name: str) -> None:
    after, words = WRONG[name]
    told = found(BEFORE, after)
    assert told is not None
    assert words in told


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_rewrite_has_none(name: str) -> None:
    assert found(BEFORE, RIGHT[name]) is None


def test_what_the_text_did_before_is_not_held_against_a_rewrite() -> None:
    wrong, _ = WRONG["four at once beyond the end"]
    assert found(wrong, wrong.replace("2.0f", "3.0f")) is None


@pytest.mark.parametrize(
    "strategy", [one for one in registry().values() if one.id.startswith("cuda.")], ids=lambda one: one.id
)
def test_what_strategies_make_of_their_examples_is_never_refused(strategy: Strategy) -> None:
    assert found(strategy.example.before, strategy.example.after) is None


def test_it_is_asked_in_a_process_of_its_own() -> None:
    after, words = WRONG["a grid too small"]
    told = asyncio.run(asked(BEFORE, after, [LINE]))
    assert isinstance(told, Refusal)
    assert words in told.reason
    assert asyncio.run(asked(BEFORE, RIGHT["a stride"], [LINE])) is None
