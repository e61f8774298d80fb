"""A class is constructed with what the workload says, and where that does not fit, with words on what to write."""

from types import ModuleType

import pytest
import torch

from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.subject import performance_target
from kernelwright.values import Case, Workload, WorkloadSource

MODEL = """\
import torch

class Model(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.linear = torch.nn.Linear(n, n)

"""
MAKER = "def get_init_inputs():\n    return [8]\n"


def made(text: str, line: str | None) -> object:
    module = ModuleType("model")
    exec(text, vars(module))
    cases = () if line is None else (Case(0, 0, line),)
    source = WorkloadSource.KERNELBENCH if line is None else WorkloadSource.LINES
    return performance_target(module, Workload(source, "Model", cases), device="cpu")


def said(text: str, line: str | None) -> str:
    with pytest.raises(JobFailed) as raised:
        made(text, line)
    return raised.value.failure.message


@pytest.mark.parametrize(("line", "size"), [(None, 8), ("Model(4)(randn(2, 4))", 4)])
def test_a_class_is_constructed_as_the_workload_says(line: str | None, size: int) -> None:
    assert made(MODEL + MAKER, line).linear.in_features == size


CONFIGURED = """\
from dataclasses import dataclass
import torch

@dataclass
class Config:
    width: int = 8
    dtype: torch.dtype = torch.float32

class Model(torch.nn.Linear):
    def __init__(self, config, more=()):
        super().__init__(config.width, sum(one.width for one in more) or 1, dtype=config.dtype)
"""


def test_a_class_is_constructed_with_what_classes_of_the_file_make() -> None:
    linear = made(CONFIGURED, "Model(Config(width=6, dtype=float64), more=[Config(2), Config()])(randn(2, 6))")
    assert linear.weight.shape == (10, 6)
    assert linear.weight.dtype is torch.float64


@pytest.mark.parametrize(
    "written", ["SimpleNamespace(width=6, dtype=float64)", "Config(SimpleNamespace(width=6), dtype=float64)"]
)
def test_a_class_is_constructed_with_data_by_attributes(written: str) -> None:
    text = CONFIGURED.replace("(config.width,", "(getattr(config.width, 'width', config.width),")
    linear = made(text, f"Model({written}, more=[SimpleNamespace(width=10)])(randn(2, 6))")
    assert linear.weight.shape == (10, 6)
    assert linear.weight.dtype is torch.float64


def test_a_class_that_is_not_there_is_named() -> None:
    line = "Model(Configuration(6))(randn(2, 6))"
    assert said(CONFIGURED, line) == (
        "The file has no class named Configuration, of which the workload line makes an object."
    )


@pytest.mark.parametrize(
    "imported", ["from subprocess import Popen", "from concurrent.futures import Executor as Popen"]
)
def test_a_line_makes_nothing_of_pythons_library(imported: str) -> None:
    words = "Popen is a class of Python's library, of which a line makes no objects."
    assert said(f"{imported}\n{CONFIGURED}", "Model(Popen('true'))(randn(2, 6))") == words


@pytest.mark.parametrize("line", ["Model(randn(2, 8))", "Model()(randn(2, 8))", "Model(1, 2)(randn(2, 8))"])
def test_a_line_that_does_not_fit_the_constructor_is_told_what_to_write(line: str) -> None:
    words = "Write Model(…)(…) in the workload line, with the constructor's arguments first"
    alone, beside = (said(text, line) for text in (MODEL, MODEL + MAKER))
    assert alone.startswith("Constructing Model raised TypeError: ")
    assert alone.endswith(f". {words}.")
    assert beside.endswith(f". {words}: a line does not call get_init_inputs().")


@pytest.mark.parametrize("line", [None, "Model('many')(randn(2, 8))"])
def test_other_errors_of_a_constructor_are_told_as_they_are(line: str | None) -> None:
    text = MODEL if line is None else MODEL + MAKER
    assert said(text, line).startswith("Constructing Model raised TypeError: ")
    assert "Write" not in said(text, line)
