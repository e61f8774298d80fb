"""Strategies for a language model: the gate passes the example of each, and what is none of its kind is refused in words."""

import asyncio
import dataclasses
from collections.abc import Iterator

import pytest

from kept import Lent
from kernelwright.coders.carrying_out import needs_a_model
from kernelwright.macro.policy import menu, offered, summed_up
from kernelwright.macro.rewrites import CUDA_REWRITE, TORCH_REWRITE, TRITON_REWRITE
from kernelwright.macro.strategies import named, registry
from kernelwright.macro.strategy import Observation, Strategy, ask
from kernelwright.proof.jobs import Limits, Trial, TrialResult
from kernelwright.values import CPU, Device, Refusal, Workload
from macro import cuda_files
from macro.test_examples import observed, of_example
from macro.triton_files import H200, HEAD, observe

ASKED = {id: strategy for id, strategy in registry().items() if strategy.intent is ask}


def marks(strategy: Strategy) -> list[pytest.MarkDecorator]:
    """Kernels in CuTe DSL run on a GPU only."""
    return [pytest.mark.gpu] if "cutlass" in strategy.example.after else []


class Bench:
    """An event loop for all trials of this file."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._workers = Lent()

    def tried(self, trial: Trial) -> TrialResult:
        result = self._loop.run_until_complete(self._workers.run(trial, timeout=300))
        assert isinstance(result, TrialResult), result
        return result

    def close(self) -> None:
        self._loop.close()


@pytest.fixture(scope="module")
def bench() -> Iterator[Bench]:
    bench = Bench()
    yield bench
    bench.close()


@pytest.mark.parametrize("strategy", ASKED.values(), ids=ASKED)
def test_its_example_is_offered_with_a_gain_and_a_reason(strategy: Strategy) -> None:
    observation = of_example(strategy)
    actions = strategy.find(observation)
    assert not isinstance(actions, Refusal), actions.reason
    (action,) = actions
    assert (action.region.start_line, action.region.end_line) == (
        observation.kernel.start_line,
        observation.kernel.end_line,
    )
    assert 0 < float(action.params["expected_gain"]) <= 2
    assert str(action.params["reason"]).endswith(".")


def tried_example(strategy: Strategy, bench: Bench) -> TrialResult:
    """The example of a strategy in the gate, on the lines after the first, which is as large as one would measure."""
    observation = of_example(strategy)
    before, workload = strategy.example.before, observation.workload
    assert isinstance(workload, Workload)
    assert len(workload.cases) > 1, "one line to measure, and one of odd sizes to verify here"
    small = dataclasses.replace(workload, cases=workload.cases[1:])
    return bench.tried(
        Trial(
            f"/nowhere/{observation.path}",
            before,
            before,
            strategy.example.after,
            small,
            measure=False,
            limits=Limits(threads=1),
            promises_kernel=strategy.promises_kernel,
            language=observation.support.id,
        )
    )


@pytest.mark.parametrize("strategy", [pytest.param(one, marks=marks(one), id=id) for id, one in ASKED.items()])
def test_the_gate_passes_its_example(strategy: Strategy, bench: Bench) -> None:
    result = tried_example(strategy, bench)
    failed = [f"{check.name}: {check.detail}" for check in result.verdict.failed_checks]
    assert result.verdict.passed, (failed, result.verdict)


def kernel(body: str, call: str, *, grid: str = "(n_rows,)", parameters: str = "n_cols, BLOCK: tl.constexpr") -> str:
    """A kernel of one row a program and its launcher; the workload line is `call`."""
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return (
        f"{HEAD}@triton.jit\n"
        f"def row_kernel(x_ptr, out_ptr, {parameters}):\n"
        f"    row = tl.program_id(0).to(tl.int64)\n{lines}\n\n"
        f"# workload: {call}\n"
        "def run(x, block):\n"
        "    n_rows, n_cols = x.shape\n"
        "    out = torch.empty_like(x)\n"
        f"    row_kernel[{grid}](x, out, n_cols, BLOCK=block)\n"
        "    return out\n"
    )


ROW = """
cols = tl.arange(0, BLOCK)
mask = cols < n_cols
x = tl.load(x_ptr + row * n_cols + cols, mask=mask, other=0.0)
tl.store(out_ptr + row * n_cols + cols, x / tl.sum(x, axis=0), mask=mask)
"""
LOOP = """
total = 0.0
for start in range(0, n_cols, BLOCK):
    cols = start + tl.arange(0, BLOCK)
    total += tl.sum(tl.load(x_ptr + row * n_cols + cols, mask=cols < n_cols, other=0.0), axis=0)
tl.store(out_ptr + row, total)
"""
DOT = """
a = tl.load(x_ptr + tl.arange(0, BLOCK)[:, None] * n_cols + tl.arange(0, BLOCK)[None, :])
tl.store(out_ptr + tl.arange(0, BLOCK)[:, None] * n_cols + tl.arange(0, BLOCK)[None, :], tl.dot(a, a))
"""
DEPENDENT = """
for first in range(0, n_cols, BLOCK):
    end = tl.minimum(first + BLOCK, n_cols)
    for col in range(first, end):
        tl.store(out_ptr + row * n_cols + col, tl.load(x_ptr + row * n_cols + col))
"""
IN_PLACE = """
cols = tl.arange(0, BLOCK)
tl.store(out_ptr + cols, tl.load(out_ptr + cols) * 2.0)
tl.store(out_ptr + cols, tl.load(out_ptr + cols) + 1.0)
"""
TWO_SUMS = """
one = 0.0
for start in range(0, n_cols, BLOCK):
    one += tl.sum(tl.load(x_ptr + start + tl.arange(0, BLOCK)), axis=0)
two = 0.0
for start in range(0, n_cols, BLOCK):
    two += tl.sum(tl.load(x_ptr + 1 + start + tl.arange(0, BLOCK)), axis=0)
tl.store(out_ptr + row, one + two)
"""
OLD = dataclasses.replace(H200, name="NVIDIA P100", compute_capability=60)
STAGED = LOOP.replace("range(0", "tl.range(0").replace("BLOCK):", "BLOCK, num_stages=3):")
PERSISTENT = f"n_programs = tl.num_programs(0)\n{ROW.strip()}"
PRODUCT_LOOP = "for start in range(0, n_cols, BLOCK):\n" + "".join(f"    {line}\n" for line in DOT.strip().splitlines())

# (strategy, the kernel, the workload, the device, what the refusal says)
TRITON_REFUSALS = [
    ("retile", ROW, "run(randn(99999, 4096), 4096)", H200, "which keeps its warps busy"),
    ("retile", ROW, "run(randn(64, 100), 128)", H200, "There are only 64 programs"),
    ("retile", LOOP, "run(randn(64, 100), 128)", H200, "No program takes just one short row"),
    ("reorder-loops", LOOP, "run(randn(64, 100), 128)", H200, "No loop of the kernel stands inside another one."),
    ("reorder-loops", DEPENDENT, "run(randn(64, 100), 128)", H200, "depends on the loop around it"),
    ("software-pipelining", ROW, "run(randn(64, 100), 128)", H200, "No loop of the kernel loads anything"),
    ("software-pipelining", LOOP, "run(randn(64, 400), 128)", H200, "only 4 turns"),
    ("software-pipelining", STAGED, "run(randn(64, 4000), 128)", H200, "has its number of stages already"),
    ("software-pipelining", PRODUCT_LOOP, "run(randn(64, 64), 64)", H200, "those Triton pipelines by itself"),
    ("split-reduction", ROW, "run(randn(64, 100), 128)", H200, "No loop of the kernel reduces what it loads."),
    ("split-reduction", LOOP, "run(randn(8, 4000), 128)", H200, "has 4000 elements, too few to divide"),
    ("split-reduction", LOOP, "run(randn(512, 40000), 128)", H200, "512 programs, enough to keep 132 multiprocessors"),
    ("persistent-kernel", LOOP, "run(randn(99999, 64), 64)", H200, "no load in common"),
    ("persistent-kernel", PERSISTENT, "run(randn(99999, 64), 64)", H200, "asks for tl.num_programs"),
    ("persistent-kernel", DOT, "run(randn(64, 64), 64)", H200, "only from about 2112 on"),
    ("tensor-core", DOT, "run(randn(64, 64), 64)", H200, "uses tl.dot already"),
    ("tensor-core", LOOP, "run(randn(64, 64), 64)", H200, "are summed up to a tile"),
    ("tensor-core", ROW, "run(randn(64, 64), 64)", OLD, "NVIDIA P100 has no tensor cores."),
    ("corrected-precision", ROW, "run(randn(64, 64), 64)", H200, "no tl.dot whose operands"),
    ("corrected-precision", DOT, "run(randn(64, 64), 64)", H200, "run on tensor cores already"),
    ("warp-specialisation", DOT, "run(randn(64, 64), 64)", H200, "No loop of the kernel feeds a tl.dot"),
    ("warp-specialisation", PRODUCT_LOOP, "run(randn(64, 64), 64)", CPU, "Hopper and Blackwell (9.0 to 10.x) can"),
    ("warp-specialisation", PRODUCT_LOOP, "run(randn(64, 64), 64)", H200, "load through tensor descriptors"),
    ("vectorised-access", ROW, "run(randn(64, 64), 64)", H200, "Every access touches neighbouring elements"),
    ("occupancy", ROW, "run(randn(64, 1000), 1024)", H200, "holds about 8 elements at once"),
    ("occupancy", DOT, "run(randn(64, 64), 64)", H200, "tiles of several sides"),
    ("recompute", ROW, "run(randn(64, 64), 64)", H200, "loads nothing that it has stored before"),
    ("recompute", IN_PLACE, "run(randn(1, 64), 64)", H200, "nothing is left to recompute from"),
    ("online-algorithm", LOOP, "run(randn(64, 640), 64)", H200, "no two loops over the same range that both reduce"),
    ("online-algorithm", TWO_SUMS, "run(randn(64, 640), 64)", H200, "No reducing loop waits for what an earlier one"),
]


@pytest.mark.parametrize(("name", "body", "call", "device", "words"), TRITON_REFUSALS)
def test_a_triton_kernel_is_refused_in_words(name: str, body: str, call: str, device: Device, words: str) -> None:
    refused(registry()[f"triton.rewrite.{name}"], observe(kernel(body, call), device), words)


def refused(strategy: Strategy, observation: Observation, words: str) -> None:
    answer = strategy.find(observation)
    assert isinstance(answer, Refusal), answer
    assert words in answer.reason
    assert answer.reason.endswith(".")


def cuda(body: str, *, grid: str = "n_rows", after: str = "", line: str = "n_rows=8, n_cols=100000") -> str:
    """A CUDA kernel of one row a block, and its launcher."""
    return (
        f"__global__ void row_kernel(const float* x, float* out, int n_cols) {{\n"
        f"  const float* row = x + (size_t)blockIdx.x * n_cols;\n{body}\n}}\n{after}"
        f"// workload: run(x=randn(n_rows, n_cols), out=out(n_rows, n_cols), {line})\n"
        f"void run(const float* x, float* out, int n_rows, int n_cols) {{\n"
        f"  row_kernel<<<{grid}, 128>>>(x, out, n_cols);\n"
        f"{'  next_kernel<<<1, 128>>>(x, out);' if after else ''}\n}}\n"
    )


COPY = "  for (int i = threadIdx.x; i < n_cols; i += 128) out[i] = row[i];"
SUM = "  float sum = 0; for (int i = threadIdx.x; i < n_cols; i += 128) sum += row[i];\n  out[blockIdx.x] = sum;"
ADDED = "  float sum = 0; for (int i = 0; i < n_cols; i++) sum += row[i];\n  atomicAdd(&out[0], sum);"
NEXT = "__global__ void next_kernel(const float* x, float* y) { y[0] = x[0]; }\n"
CUDA_REFUSALS = [
    ("split-reduction", cuda(COPY), "No loop of the kernel reduces what it loads."),
    ("split-reduction", cuda(ADDED), "by atomics already"),
    ("split-reduction", cuda(SUM, line="n_rows=8, n_cols=100"), "has 100 elements, too few"),
    ("split-reduction", cuda(SUM, line="n_rows=512, n_cols=100000"), "512 blocks, enough to keep 132"),
    ("split-reduction", cuda(SUM, grid="rows()"), "the launch does not tell"),
    ("online-algorithm", cuda(SUM), "no two loops that both reduce"),
    (
        "online-algorithm",
        cuda(SUM.replace("out[", "if (n_cols) out[") + SUM.replace("sum", "two")),
        "No reducing loop waits",
    ),
    ("software-pipelining", cuda(SUM), "No loop of the kernel fills shared memory"),
    ("fuse-kernels", cuda(SUM), "launches only this kernel"),
    ("fuse-kernels", cuda(SUM, after=NEXT), "reads what it writes"),
]


@pytest.mark.parametrize(("name", "text", "words"), CUDA_REFUSALS)
def test_a_cuda_kernel_is_refused_in_words(name: str, text: str, words: str) -> None:
    refused(registry()[f"cuda.rewrite.{name}"], cuda_files.observe(text), words)


def module(body: str, call: str = "f(randn(1024, 1024))") -> str:
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    return f"import torch\n\n\n# workload: {call}\ndef f(x):\n{lines}"


POINTS = "return torch.relu(x) + 1"
LAYERS = """\
for _ in range(12):
    x = torch.tanh(x.roll(1, 0))
return x
"""
GRADIENT = """\
with torch.enable_grad():
    x = x.detach().requires_grad_()
    y = {loss}
    return torch.autograd.grad(y, x{more})[0]
"""
TORCH_REFUSALS = [
    ("fuse-statements", "return torch.relu(x)", "No operation that is bound by memory works on the result"),
    ("fuse-statements", POINTS, "the fusions fuse that need no model"),
    ("fuse-statements", GRADIENT.format(loss="(x * x).sum()", more=""), "runs a backward pass"),
    ("algorithm", POINTS, "no step is repeated on its result"),
    ("layout", POINTS, "No tensor is copied from one layout into another."),
    ("layout", "return (x @ x @ x @ x @ x @ x).t().contiguous()", "Copies between layouts take only about"),
    ("fused-backward", POINTS, "The call runs no backward pass"),
    ("fused-backward", GRADIENT.format(loss="x.sum()", more=""), "of a single operation"),
    (
        "fused-backward",
        GRADIENT.format(loss="(x @ x).exp().sum()", more=""),
        "Most of the backward pass is that of matmul",
    ),
    ("fused-backward", GRADIENT.format(loss="x.exp().sum()", more=", create_graph=True"), "differentiated again"),
]


@pytest.mark.parametrize(("name", "body", "words"), TORCH_REFUSALS)
def test_pytorch_code_is_refused_in_words(name: str, body: str, words: str) -> None:
    refused(registry()[f"torch.rewrite.{name}"], observed(module(body), needs_graph=True), words)


def test_a_step_that_is_repeated_on_its_own_result_is_a_chance() -> None:
    (action,) = registry()["torch.rewrite.algorithm"].find(observed(module(LAYERS), needs_graph=True))
    assert "runs 12 times, each time on its own result" in str(action.params["reason"])


def test_what_a_pointwise_kernel_is_offered() -> None:
    pointwise = registry()["triton.tune-launch"].example.before
    offers = menu(observe(pointwise, H200))
    assert [one.strategy.id for one in offers if one.actions and one.strategy.id in ASKED] == []


def test_what_a_row_kernel_is_offered() -> None:
    softmax = registry()["triton.online-reduction"].example.before
    offers = menu(observe(softmax, H200))
    assert [one.strategy.id for one in offers if one.actions and one.strategy.id in ASKED] == [
        "triton.rewrite.online-algorithm",
        "triton.rewrite.software-pipelining",
    ]


@pytest.mark.parametrize("group", [CUDA_REWRITE, TRITON_REWRITE, TORCH_REWRITE], ids=lambda group: group.id)
def test_without_a_model_a_menu_tells_them_as_one(group) -> None:
    strategies = named(group.id)
    assert set(strategies) == {one for one in ASKED.values() if one.group is group}
    observation = of_example(strategies[0])
    offers = summed_up(menu(observation, lambda one: needs_a_model(one) if one.intent is ask else None))
    (told,) = [one for one in offers if one.strategy.id.startswith(group.id)]
    assert told.refusal == Refusal(f"{group.title} needs a language model, and none is configured.")


def test_what_has_nothing_to_rewrite_is_told_as_one() -> None:
    offers = summed_up(menu(observe(registry()["triton.tune-launch"].example.before, H200)))
    (told,) = [one for one in offers if one.strategy.id.startswith(TRITON_REWRITE.id)]
    assert told.refusal is not None
    assert told.refusal.reason == TRITON_REWRITE.nothing


def test_a_group_stands_for_its_most_promising_action() -> None:
    actions = offered(TRITON_REWRITE.id, of_example(registry()["triton.rewrite.split-reduction"]))
    assert not isinstance(actions, Refusal)
    gains = [float(action.params["expected_gain"]) for action in actions]
    assert gains == sorted(gains, reverse=True)
    assert actions[0].strategy == "triton.rewrite.split-reduction"


@pytest.mark.parametrize("strategy", ASKED.values(), ids=ASKED)
def test_the_brief_says_how_what_for_and_what_not(strategy: Strategy) -> None:
    lines = strategy.instruction.splitlines()
    assert 8 <= len(lines) <= 25
    assert all(f"\n{number}. " in strategy.instruction for number in (1, 2, 3))
    assert all(word in strategy.instruction for word in ("\nPitfalls: ", "\nIt pays ", "\nDo not change "))
    assert "**Refused:**" in strategy.doc
