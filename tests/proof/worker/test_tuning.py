"""Triton's own Autotuner on stand-ins for kernels: what it measures in the processes of a gate and a race."""

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
from triton.runtime import autotuner, jit
from triton.runtime.autotuner import Autotuner, Config

from kernelwright.proof.worker import tuning


class Kernel(jit.KernelInterface):
    """Stands for a compiled kernel: notes with which block each launch ran."""

    cache_key = "of its text"

    def __init__(self) -> None:
        self.blocks: list[int] = []
        self.fn = _text

    def run(self, *args: Any, BLOCK: int, **kwargs: Any) -> int:
        self.blocks.append(BLOCK)
        return BLOCK


def _text(n: int, BLOCK: int) -> None:
    pass


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Blocks that were measured; the second is the fastest. What a test patches is undone."""
    for name in ("prune_configs", "_bench"):
        monkeypatch.setattr(Autotuner, name, getattr(Autotuner, name))
    monkeypatch.setattr(autotuner, "triton_key", lambda: "")
    tuning._measured.clear()
    found: list[int] = []

    def brief(call: Any, quantiles: Any = None, **_: Any) -> list[float]:
        found.append(call.__closure__ and _block_of(call))
        return [1.0 if found[-1] == 32 else 2.0] * 3

    monkeypatch.setattr(tuning, "_for_a_moment", brief)
    yield found
    tuning._measured.clear()


def _block_of(call: Any) -> int:
    config = next(cell.cell_contents for cell in call.__closure__ if isinstance(cell.cell_contents, Config))
    return config.kwargs["BLOCK"]


def tuned(kernel: Kernel, **how: Any) -> Autotuner:
    configs = [Config({"BLOCK": block}) for block in (16, 32, 64)]
    return Autotuner(kernel, ["n", "BLOCK"], configs, ["n"], None, None, **how)


def test_the_gate_measures_at_the_first_key_alone(measured: list[int]) -> None:
    tuning.choose_once()
    tuning.choose_once()  # a process judges more than one text
    kernel = Kernel()
    tuner = tuned(kernel)
    assert [tuner.run(n) for n in (100, 100, 7, 65)] == [32] * 4
    assert measured == [16, 32, 64]


def test_a_choice_that_pruning_takes_away_is_made_anew(measured: list[int]) -> None:
    tuning.choose_once()
    small = {"early_config_prune": lambda configs, named, **_: [c for c in configs if c.kwargs["BLOCK"] <= named["n"]]}
    tuner = tuned(Kernel(), prune_configs_by=small)
    assert [tuner.run(n) for n in (100, 16)] == [32, 16]
    assert measured == [16, 32, 64, 16]


def test_a_race_measures_a_text_once(measured: list[int]) -> None:
    tuning.measure_once()
    tuning.measure_once()
    first, again, other = Kernel(), Kernel(), Kernel()
    other.cache_key = "of another text"
    how = {"do_bench": tuning._for_a_moment}
    assert [tuned(kernel, **how).run(100) for kernel in (first, again, other)] == [32] * 3
    assert measured == [16, 32, 64] * 2
    assert tuned(again, **how).run(101) == 32  # another key
    assert len(measured) == 9


def test_the_twin_takes_any_configuration_with_many_warps(measured: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    launched: list[Any] = []

    def launch(self: Any, *args: Any, **kwargs: Any) -> None:
        if kwargs.get("num_warps") == tuning._WARPS and self.picky:
            raise ValueError("so many warps")
        launched.append(kwargs.get("num_warps"))

    monkeypatch.setattr(jit.JITFunction, "run", launch)
    kernel = Kernel()
    plain = SimpleNamespace(arg_names=["n"], picky=False)
    picky = SimpleNamespace(arg_names=["n"], picky=True)
    named = SimpleNamespace(arg_names=["n", "num_warps"], picky=False)
    with tuning.compiling_fast():
        assert tuned(kernel).run(100) == 16
        for one in (plain, picky, named):
            jit.JITFunction.run(one, 1)
        jit.JITFunction.run(plain, 1, num_warps=32)
    assert measured == []
    assert launched == [16, None, None, 32]
    jit.JITFunction.run(plain, 1, num_warps=4)
    assert launched[-1] == 4
