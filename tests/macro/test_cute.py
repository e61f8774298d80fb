"""Kernels in NVIDIA's CuTe DSL: where they are offered, what an edit may use of it, and how they are told from others."""

import dataclasses
import sys
from types import ModuleType

import pytest

from kernelwright.languages.python.static_gate import forbidden
from kernelwright.macro.strategies import registry
from kernelwright.macro.strategy import Absent, Observation
from kernelwright.prompting.action import device_words
from kernelwright.proof.worker import ran
from kernelwright.proof.worker.languages.python.coverage import Text, missing
from kernelwright.proof.worker.languages.python.kernels import cute_kernels, defined_in
from kernelwright.proof.worker.profiling.names import origin_of
from kernelwright.proof.worker.ran import NOTHING, Ran
from kernelwright.source.cute import CuteCode, cute_code
from kernelwright.values import CPU, Device, Origin, Refusal
from macro.test_examples import observed, of_example
from macro.triton_files import H200, WITH_CUTE

BEGIN, REFINE = (registry()[f"torch.rewrite.cute-{name}"] for name in ("kernel", "refinement"))
TEXT = BEGIN.example.after
SYMBOL = "kernel_cutlass_rms_norm_kernel_tensorptrf32gmemoi641_tensorptrf32gmemo1_tensorptrf32gmemoi641__0"


def words(strategy, observation: Observation) -> str:
    found = strategy.find(observation)
    assert isinstance(found, Refusal), found
    return found.reason


def module(body: str, call: str) -> Observation:
    text = f"import torch\n\n\n# workload: {call}\ndef f(x):\n    return {body}\n"
    return dataclasses.replace(observed(text, needs_graph=True), device=WITH_CUTE)


@pytest.mark.parametrize(
    ("device", "said"),
    [(CPU, "run on an NVIDIA GPU only"), (H200, "pip install nvidia-cutlass-dsl")],
    ids=["no GPU", "not installed"],
)
def test_they_are_offered_where_they_can_run(device: Device, said: str) -> None:
    for strategy in (BEGIN, REFINE):
        assert said in words(strategy, dataclasses.replace(of_example(strategy), device=device))


@pytest.mark.parametrize(
    ("body", "call", "said"),
    [
        ("x @ x", "f(randn(64, 64))", "matmul is no pointwise operation, norm or reduction"),
        ("torch.relu(x)", "f(randn(8192, 8192))", "little more than their inputs and results"),
        ("x.t()", "f(randn(64, 64))", "Nothing is computed here"),
    ],
)
def test_what_a_first_kernel_is_not_for(body: str, call: str, said: str) -> None:
    assert said in words(BEGIN, module(body, call))


def test_a_kernel_is_refined_where_the_function_leads_to_one() -> None:
    assert isinstance(REFINE.find(of_example(BEGIN)), Absent)
    (action,) = REFINE.find(of_example(REFINE))
    assert action.region.label == "CuTe kernel rms_norm_kernel"
    aside = TEXT + "\n\n# workload: other(randn(4, 4))\ndef other(x):\n    return torch.exp(x) + 1\n"
    other = [one for one in of_example(REFINE).support.kernels(aside) if one.name == "other"]
    assert isinstance(REFINE.find(dataclasses.replace(of_example(REFINE), text=aside, kernel=other[0])), Absent)


def test_a_function_of_cute_is_no_torch_code() -> None:
    support = of_example(REFINE).support
    assert [kernel.name for kernel in support.kernels(TEXT)] == ["rms_norm", "_rms_norm"]


def test_the_kernels_of_a_text_and_their_symbols() -> None:
    known = defined_in([TEXT])
    assert set(cute_kernels(TEXT)) == {"rms_norm_kernel"} == known.cute
    assert origin_of(SYMBOL, known) is Origin.HAND_WRITTEN
    assert origin_of(SYMBOL.replace("rms_norm_kernel", "rms_kernel"), known) is Origin.LIBRARY
    assert cute_kernels(TEXT[: len(TEXT) // 3]) == cute_kernels("import cutlass") == {}


def test_a_kernel_that_was_not_launched_is_missed() -> None:
    before, after = Text(BEGIN.example.before, "rms_norm", ""), Text(TEXT, "rms_norm", "rms_norm")
    lines = tuple(after.numbers.values())
    whole = Ran(lines=lines)
    inner = {after.numbers[id(one)] for kernel in after.kernels for one in after.statements(kernel)}
    outside = dataclasses.replace(whole, lines=tuple(number for number in lines if number not in inner))
    assert missing(after, before, "rms_norm", NOTHING, inside=False).said[0] == "kernel `rms_norm_kernel` was launched"
    assert "kernel `rms_norm_kernel` was launched" in missing(after, before, "rms_norm", outside, inside=False).said
    seen = dataclasses.replace(outside, launched=("rms_norm_kernel",))
    assert missing(after, before, "rms_norm", seen, inside=False).said == ()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("cute.testing.benchmark(kernel)", "touches timers"),
        ("cutlass.torch.default_stream()", "leaves the caller's stream"),
        ("cutlass.base_dsl.compiler.CompileCallable()", "reaches into CuTe DSL"),
    ],
)
def test_what_an_edit_may_not_use_of_it(line: str, said: str) -> None:
    refused = forbidden("", f"import cutlass\nimport cutlass.cute as cute\n\n\ndef f(kernel):\n    return {line}\n")
    assert refused is not None
    assert said in refused.reason
    assert forbidden(BEGIN.example.before, TEXT) is None


def test_the_prompt_names_its_version() -> None:
    assert "CuTe DSL 4.8.1" in device_words(WITH_CUTE)


def refined(old: str, new: str) -> Refusal | None:
    observation = of_example(REFINE)
    assert old in TEXT
    return observation.support.edit_problem(TEXT, TEXT.replace(old, new), observation.kernel)


def test_what_an_edit_of_a_kernel_may_change() -> None:
    """The kernel, what launches it and what only these use; not what others use, nor the constants."""
    assert cute_code(TEXT, "rms_norm").kernels == ("rms_norm_kernel",)
    helpers = {"rms_norm_kernel", "launch_rms_norm", "_as_cute", "_rms_norm"}
    assert cute_code(TEXT, "rms_norm").helpers == helpers
    shared = TEXT + "\n\ndef other(x):\n    return _as_cute(x)\n"
    assert cute_code(shared, "rms_norm").helpers == helpers - {"_as_cute"}
    assert cute_code(TEXT, "other") == cute_code(TEXT[:-40], None) == cute_code("import torch\n", "f") == CuteCode()
    assert refined("columns, 32):\n            total", "columns, 64):\n            total") is None
    assert refined("tensor.ndim - 1)", "tensor.dim() - 1)") is None
    changed = refined("WARPS = 8", "WARPS = 4")
    assert changed is not None
    assert "outside of what may be changed" in changed.reason


def test_the_refinement_of_the_example_is_an_edit_that_may_be_tried() -> None:
    observation = of_example(REFINE)
    assert observation.support.edit_problem(TEXT, REFINE.example.after, observation.kernel) is None


def test_a_launch_is_noted_when_it_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a launcher like that of CuTe DSL 4.8, and by one that keeps its kernel under another name."""

    class KernelLauncher:
        def launch(self, grid):
            return grid

    module = ModuleType("cutlass.cutlass_dsl.cutlass")
    module.KernelLauncher = KernelLauncher
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for name in ("interpreter", "jit"):
        monkeypatch.setitem(sys.modules, f"triton.runtime.{name}", None)
    monkeypatch.setattr(ran, "_probes", ran._Probes())
    ran.look_at_kernels("/nowhere/kernel.py")
    launcher, unknown = KernelLauncher(), KernelLauncher()
    launcher.funcBody = rms_norm_kernel
    assert (launcher.launch(grid=(1, 1, 1)), unknown.launch(grid=2)) == ((1, 1, 1), 2)
    assert "rms_norm_kernel" in ran.taken().launched


def rms_norm_kernel() -> None: ...
