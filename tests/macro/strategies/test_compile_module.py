"""The text that compiles a module's forward: when it does, and what it leaves as it was.

Each test runs with torch.compile on a GPU, and without one with a stand-in for it that calls the forward; what becomes of
buffers, with what torch.compile traces.
"""

import copy
import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

import pytest
import torch

from kernelwright.coders.carrying_out import carried_out
from kernelwright.macro.strategies.torch_compile_module import STRATEGY
from kernelwright.values import Action, Region, apply
from macro.strategies.recorded_graphs import on_the_cpu
from macro.torch_modules import module, observed

TEXT = module(
    "x = self.drop(self.norm(self.linear(x)))\nreturn torch.tanh(x) * self.scale",
    "self.linear = nn.Linear(16, 16)\nself.norm = nn.BatchNorm1d(16)\nself.drop = nn.Dropout(0.5)\nself.scale = 2.0",
)

UPDATING = module(
    "x = self.norm(self.linear(x))\nself.latest.mul_(0.5).add_(x.mean(0))\nreturn torch.tanh(x) + self.latest",
    'self.linear = nn.Linear(16, 16)\nself.norm = nn.BatchNorm1d(16)\nself.register_buffer("latest", torch.ones(16))',
)
COMPILE = torch.compile


def called(forward: Callable[..., Any], **_: Any) -> Callable[..., Any]:
    return forward


def traced(forward: Callable[..., Any], **_: Any) -> Callable[..., Any]:
    return COMPILE(forward, backend="aot_eager", dynamic=False)


class Bench:
    """A module whose forward is compiled, beside the same one as written; `compiled` counts calls of what was compiled."""

    def __init__(
        self,
        variant: int,
        device: str,
        monkeypatch: pytest.MonkeyPatch,
        text: str = TEXT,
        stand_in: Callable[..., Callable[..., Any]] = called,
    ) -> None:
        self.device, self.compiled, self.options = device, 0, dict[str, Any]()
        compile_ = COMPILE if device == "cuda" else stand_in
        self.limit = sys.getrecursionlimit()
        observation = observed(text)
        edits = carried_out(STRATEGY, observation, Action(STRATEGY.id, Region(0, 0, "")))
        assert isinstance(edits, tuple), edits
        self.space: dict[str, Any] = {}
        plain: dict[str, Any] = {}
        exec(compile(apply(edits[variant], text), "compiled.py", "exec"), self.space)
        exec(compile(text, "plain.py", "exec"), plain)
        if device == "cpu":
            on_the_cpu(monkeypatch, self.space)
        monkeypatch.setattr(torch, "compile", functools.partial(self.counted, compile_))
        self.model = self.space["Model"]().to(device).eval()
        self.plain = plain["Model"]().to(device).eval()
        self.plain.load_state_dict(self.model.state_dict())

    def counted(self, compile_: Callable[..., Any], forward: Callable[..., Any], **options: Any) -> Callable[..., Any]:
        made, self.options = compile_(forward, **options), options

        def call(*args: Any) -> Any:
            self.compiled += 1
            sys.setrecursionlimit(self.limit + 1000)  # as Inductor does
            return made(*args)

        return call

    def input(self, rows: int = 8) -> torch.Tensor:
        return torch.randn(rows, 16, device=self.device)

    def is_compiled(self, call: Callable[[], object]) -> bool:
        before = self.compiled
        call()
        return self.compiled > before


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def make(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Bench]:
    torch.manual_seed(0)
    return lambda variant, *text: Bench(variant, request.param, monkeypatch, *text)


@pytest.fixture(params=[0, 1], ids=["reduce-overhead", "default"])
def bench(request: pytest.FixtureRequest, make: Callable[..., Bench]) -> Bench:
    return make(request.param)


@torch.no_grad()
def test_the_second_call_of_two_kinds_is_compiled(bench: Bench) -> None:
    for rows in (8, 4, 2):
        compiled = []
        for _ in range(3):
            x = bench.input(rows)
            compiled.append(bench.is_compiled(lambda x=x: torch.testing.assert_close(bench.model(x), bench.plain(x))))
        assert compiled == ([False, True, True] if rows > 2 else [False] * 3)


@torch.no_grad()
def test_the_variants_are_two_modes(make: Callable[..., Bench]) -> None:
    for variant, mode in enumerate(("reduce-overhead", None)):
        bench = make(variant)
        for _ in range(2):
            bench.model(bench.input())
        assert bench.options == ({"mode": mode} if mode else {}) | {"dynamic": False}


@torch.no_grad()
def test_earlier_results_are_kept(bench: Bench) -> None:
    inputs = [bench.input() for _ in range(6)]
    results = [bench.model(x) for x in inputs]
    for x, result in zip(inputs, results, strict=True):
        torch.testing.assert_close(result, bench.plain(x))


def test_the_module_is_what_it_was(bench: Bench) -> None:
    with torch.no_grad():
        for _ in range(3):
            bench.model(bench.input())
    assert list(bench.model.state_dict()) == list(bench.plain.state_dict())
    assert vars(bench.model).keys() == vars(bench.plain).keys()
    assert isinstance(copy.deepcopy(bench.model), bench.space["Model"])
    other = {name: value + 1 for name, value in bench.model.state_dict().items()}
    for model in (bench.model, bench.plain):
        model.load_state_dict(other)
        model.scale = 3.0
        model.linear.weight = torch.nn.Parameter(model.linear.weight * 2)
    with torch.no_grad():
        x = bench.input()
        torch.testing.assert_close(bench.model(x), bench.plain(x))


def test_gradients_hooks_and_training_run_as_written(bench: Bench) -> None:
    with torch.no_grad():
        for _ in range(3):
            bench.model(bench.input())
    x = bench.input()
    assert not bench.is_compiled(lambda: bench.model(x).sum().backward())
    bench.plain(x).sum().backward()
    torch.testing.assert_close(bench.model.linear.weight.grad, bench.plain.linear.weight.grad)
    seen: list[Any] = []
    hook = bench.model.norm.register_forward_hook(lambda *_: seen.append(1))
    with torch.no_grad():
        assert not bench.is_compiled(lambda: bench.model(x))
        hook.remove()
        assert seen == [1]
        assert bench.is_compiled(lambda: bench.model(x))
        bench.model.train()
        bench.plain.train()
        for seed in range(3):
            torch.manual_seed(seed)
            result = bench.model(x)
            torch.manual_seed(seed)
            torch.testing.assert_close(result, bench.plain(x))
    torch.testing.assert_close(dict(bench.model.state_dict()), dict(bench.plain.state_dict()))


@pytest.mark.parametrize("variant", [0, 1], ids=["reduce-overhead", "default"])
@torch.no_grad()
def test_each_call_updates_buffers_once(make: Callable[..., Bench], variant: int) -> None:
    torch._dynamo.reset()
    counters = torch._dynamo.utils.counters
    counters.clear()
    bench = make(variant, UPDATING, traced)
    for training, compilations in ((True, 1), (False, 2), (True, 2)):
        for model in (bench.model, bench.plain):
            model.train(training)
        before = bench.compiled
        for _ in range(4):
            x = bench.input()
            torch.testing.assert_close(bench.model(x), bench.plain(x), rtol=1e-4, atol=1e-4)
            state = dict(bench.model.state_dict()), dict(bench.plain.state_dict())
            torch.testing.assert_close(*state, rtol=1e-4, atol=1e-4)
        assert bench.compiled - before >= 3
        assert counters["stats"]["unique_graphs"] == compilations
        assert not counters["graph_break"]


@torch.no_grad()
def test_graphs_stay_in_the_main_thread(make: Callable[..., Bench]) -> None:
    bench = make(0)
    for _ in range(3):
        bench.model(bench.input())
    x, before, results = bench.input(), bench.compiled, []

    def work() -> None:
        with torch.no_grad():
            results.append(bench.model(x))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    torch.testing.assert_close(results[0], bench.plain(x))
    assert bench.compiled == before


@torch.no_grad()
def test_the_depth_of_recursion_stays_that_of_the_process(bench: Bench) -> None:
    for _ in range(3):
        bench.model(bench.input())
    assert bench.compiled == 2
    assert sys.getrecursionlimit() == bench.limit
