"""The text that replays a module: equal to the forward as written, in every way that a caller can tell.

Each test runs on a GPU, and without one on graphs that are played.
"""

import copy
import gc
import pickle
import sys
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

import pytest
import torch

from kernelwright.coders.carrying_out import carried_out
from kernelwright.macro.strategies.torch_cuda_graph import STRATEGY
from kernelwright.values import Action, Region, apply
from macro.strategies.recorded_graphs import on_the_cpu
from macro.torch_modules import module, observed

TEXT = module(
    """\
RUNS.append(1)
x = self.drop(self.norm(self.linear(x)))
return torch.tanh(x) * self.scale + self.offset""",
    """\
self.linear = nn.Linear(16, 16)
self.norm = nn.BatchNorm1d(16)
self.drop = nn.Dropout(0.5)
self.scale = 2.0
self.register_buffer("offset", torch.ones(16))""",
    more="\nRUNS = []\n",
)

UPDATING = module(
    """\
RUNS.append(1)
x = self.norm(self.linear(x))
self.latest.mul_(0.5).add_(x.mean(0))
return torch.tanh(x) + self.latest""",
    """\
self.linear = nn.Linear(16, 16)
self.norm = nn.BatchNorm1d(16)
self.register_buffer("latest", torch.ones(16))
self.register_buffer("mask", torch.ones(1, 16).expand(4, 16), persistent=False)""",
    more="\nRUNS, FAILING = [], []\n",
)

Make = Callable[..., Any]


def replayed_text(text: str) -> str:
    observation = observed(text)
    edits = carried_out(STRATEGY, observation, Action(STRATEGY.id, Region(0, 0, "")))
    assert isinstance(edits, tuple), edits
    return apply(edits[0], text)


class Bench:
    """A module whose forward is replayed, beside the same one as written."""

    def __init__(self, text: str, device: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.device = device
        host = types.ModuleType("replayed")
        monkeypatch.setitem(sys.modules, "replayed", host)  # where pickle looks for the class
        self.space: dict[str, Any] = vars(host)
        plain: dict[str, Any] = {}
        exec(compile(replayed_text(text), "replayed.py", "exec"), self.space)
        exec(compile(text, "plain.py", "exec"), plain)
        if device == "cpu":
            on_the_cpu(monkeypatch, self.space)
        self.model = self.space["Model"]().to(device).eval()
        self.plain = plain["Model"]().to(device).eval()
        self.plain.load_state_dict(self.model.state_dict())
        self.runs = self.space.get("RUNS", [])

    def train(self, mode: bool = True) -> None:
        self.model.train(mode)
        self.plain.train(mode)

    def is_as_written(self, rows: int = 8) -> None:
        """Hold the result of a call, and the state behind it, against those of the module as written."""
        x = self.input(rows)
        torch.testing.assert_close(self.model(x), self.plain(x))
        torch.testing.assert_close(dict(self.model.state_dict()), dict(self.plain.state_dict()))

    def input(self, rows: int = 8) -> torch.Tensor:
        return torch.randn(rows, 16, device=self.device)

    def warm(self, rows: int = 8) -> None:
        """Make the calls behind which one of this kind is replayed."""
        for _ in range(2):
            self.model(self.input(rows))

    def is_replayed(self, call: Callable[[], object]) -> bool:
        before = len(self.runs)
        call()
        return len(self.runs) == before


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def make(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Make:
    return lambda text=TEXT: Bench(text, request.param, monkeypatch)


@torch.no_grad()
def test_a_replay_is_the_forward_on_other_inputs(make: Make) -> None:
    bench = make()
    for number in range(6):
        x = bench.input()
        torch.testing.assert_close(bench.model(x), bench.plain(x))
        assert len(bench.runs) == (1 if number == 0 else 5)  # then three to warm up, and the capture
    x = bench.input()
    assert not torch.equal(bench.model(x), bench.model(2 * x))


@torch.no_grad()
def test_earlier_results_are_kept(make: Make) -> None:
    bench = make()
    bench.warm()
    inputs = [bench.input() for _ in range(4)]
    results = [bench.model(x) for x in inputs]
    for x, result in zip(inputs, results, strict=True):
        torch.testing.assert_close(result, bench.plain(x))


@torch.no_grad()
def test_values_that_are_loaded_in_place_count(make: Make) -> None:
    bench = make()
    bench.warm()
    other = {name: value + 1 for name, value in bench.model.state_dict().items()}
    bench.model.load_state_dict(other)
    bench.plain.load_state_dict(other)
    x = bench.input()
    assert bench.is_replayed(lambda: torch.testing.assert_close(bench.model(x), bench.plain(x)))


REPLACED = {
    "data": lambda model: setattr(model.linear.weight, "data", model.linear.weight.data * 2),
    "parameter": lambda model: setattr(model.linear, "bias", torch.nn.Parameter(model.linear.bias + 1)),
    "buffer": lambda model: setattr(model, "offset", model.offset + 1),
    "attribute": lambda model: setattr(model, "scale", 3.0),
    "submodule": lambda model: setattr(model, "norm", torch.nn.Identity()),
    "state": lambda model: model.load_state_dict(
        {name: value + 1 for name, value in model.state_dict().items()}, assign=True
    ),
    "dtype": lambda model: model.double().float(),
}


REPLACED_BUFFERS = {
    "data": lambda model: setattr(model.norm.running_mean, "data", model.norm.running_mean.data * 2),
    "buffer": lambda model: setattr(model.norm, "running_var", model.norm.running_var + 1),
    "in place": lambda model: model.load_state_dict({name: value + 1 for name, value in model.state_dict().items()}),
    "to": lambda model: model.to(torch.float64).to(torch.float32),
    "half": lambda model: model.half().float(),
}


@pytest.mark.parametrize("how", REPLACED)
@torch.no_grad()
def test_what_is_replaced_is_noticed(make: Make, how: str) -> None:
    bench = make()
    bench.warm()
    for _ in range(2):
        for model in (bench.model, bench.plain):
            REPLACED[how](model)
        for _ in range(3):
            x = bench.input()
            torch.testing.assert_close(bench.model(x), bench.plain(x))
    if how != "state":  # what is added to a count of batches
        assert bench.is_replayed(lambda: bench.model(bench.input()))


@torch.no_grad()
def test_a_tensor_that_is_replaced_by_an_equal_one_is_noticed(make: Make) -> None:
    bench = make()
    one = torch.ones(1, device=bench.model.linear.weight.device)
    bench.model.one = one
    bench.warm()
    assert bench.is_replayed(lambda: bench.model(bench.input()))
    bench.model.one = one.clone()
    assert not bench.is_replayed(lambda: bench.model(bench.input()))


@torch.no_grad()
def test_each_kind_of_call_has_a_graph_and_the_fifth_has_none(make: Make) -> None:
    bench = make()
    for rows in range(1, 7):
        for _ in range(3):
            x = bench.input(rows)
            torch.testing.assert_close(bench.model(x), bench.plain(x))
    assert [bench.is_replayed(lambda r=r: bench.model(bench.input(r))) for r in range(1, 7)] == [True] * 4 + [False] * 2
    strided = torch.randn(16, 8, device=bench.device).t()
    torch.testing.assert_close(bench.model(strided), bench.plain(strided))
    empty = bench.input(0)
    assert bench.model(empty).shape == (0, 16)


def test_gradients_are_those_of_the_forward(make: Make) -> None:
    bench = make()
    with torch.no_grad():
        bench.warm()
    x, y = bench.input().requires_grad_(), None
    y = x.detach().clone().requires_grad_()
    bench.model(x).square().sum().backward()
    bench.plain(y).square().sum().backward()
    torch.testing.assert_close(x.grad, y.grad)
    torch.testing.assert_close(bench.model.linear.weight.grad, bench.plain.linear.weight.grad)
    bench.model.requires_grad_(False)
    bench.plain.requires_grad_(False)
    assert not bench.model(bench.input()).requires_grad
    assert bench.model(bench.input().requires_grad_()).requires_grad


@torch.no_grad()
def test_training_changes_statistics_once_and_draws_as_the_forward_does(make: Make) -> None:
    bench = make()
    bench.warm()
    bench.train()
    for seed in range(4):
        x = bench.input()
        torch.manual_seed(seed)
        result = bench.model(x)
        torch.manual_seed(seed)
        torch.testing.assert_close(result, bench.plain(x))
    torch.testing.assert_close(dict(bench.model.state_dict()), dict(bench.plain.state_dict()))
    assert not bench.is_replayed(lambda: bench.model(bench.input()))
    bench.model.eval()
    bench.warm()
    assert bench.is_replayed(lambda: bench.model(bench.input()))


@torch.no_grad()
def test_a_replay_updates_buffers_once(make: Make) -> None:
    bench = make(UPDATING)
    bench.train()
    for rows in (8, 4, 8, 4, 8, 4, 8):
        bench.is_as_written(rows)
    assert bench.model.norm.num_batches_tracked == 7
    assert bench.is_replayed(bench.is_as_written)


@torch.no_grad()
def test_training_and_evaluation_have_graphs_of_their_own(make: Make) -> None:
    bench = make(UPDATING)
    for part in (lambda model: model, lambda model: model.norm):
        for training in (True, False):
            for model in (bench.model, bench.plain):
                part(model).train(training)
            for _ in range(3):
                bench.is_as_written()
            assert bench.is_replayed(bench.is_as_written)


@pytest.mark.parametrize("how", REPLACED_BUFFERS)
@torch.no_grad()
def test_buffers_that_are_replaced_are_updated_where_they_are(make: Make, how: str) -> None:
    bench = make(UPDATING)
    bench.train()
    bench.warm()
    bench.plain.load_state_dict(bench.model.state_dict())
    old = bench.model.norm.running_mean
    kept = old.data, old.clone()
    for model in (bench.model, bench.plain):
        REPLACED_BUFFERS[how](model)
    for _ in range(4):
        bench.is_as_written()
    assert bench.is_replayed(bench.is_as_written)
    if bench.model.norm.running_mean.data_ptr() != kept[0].data_ptr():
        torch.testing.assert_close(*kept)


def test_gradients_see_the_updates_of_replays(make: Make) -> None:
    bench = make(UPDATING)
    bench.train()
    for _ in range(2):
        with torch.no_grad():
            for _ in range(3):
                bench.is_as_written()
        bench.is_as_written()
        assert not bench.is_replayed(bench.is_as_written)
    with torch.no_grad():
        assert bench.is_replayed(bench.is_as_written)


def test_a_replay_counts_as_the_writes_that_it_makes(make: Make) -> None:
    """Autograd refuses what it has saved and finds written to; for the statistics of a batch norm it does not."""
    bench = make(UPDATING)
    bench.train()
    with torch.no_grad():
        bench.warm()
        for model in (bench.plain, bench.model):
            before = {name: buffer._version for name, buffer in model.named_buffers()}
            model(bench.input())
            moved = {name for name, buffer in model.named_buffers() if buffer._version > before[name]}
            assert moved == {"latest", "norm.num_batches_tracked"}
    result = bench.model.norm(bench.input())
    with torch.no_grad():
        for rows in (8, 2, 2, 2):  # replayed, seen, captured, replayed
            bench.model(bench.input(rows))
    result.sum().backward()


@torch.no_grad()
def test_a_number_that_is_read_from_a_buffer_is_never_that_of_the_capture(make: Make) -> None:
    bench = make(UPDATING)
    bench.train()
    bench.warm()
    bench.plain.load_state_dict(bench.model.state_dict())
    bench.model.norm.momentum = bench.plain.norm.momentum = None
    for _ in range(4):
        bench.is_as_written()
    assert not bench.is_replayed(bench.is_as_written)


@torch.no_grad()
def test_what_is_compiled_within_stays_so(make: Make) -> None:
    counted = """
RUNS, COMPILED = [], []


def counted(graph, _):
    def run(*given):
        COMPILED.append(1)
        return graph.forward(*given)

    return run


@torch.compile(backend=counted, dynamic=True)
def inner(x):
    return torch.tanh(x) * 2
"""
    bench = make(module("RUNS.append(1)\nreturn inner(x) + 1", more=counted))
    for rows in (8, 4):
        before = len(bench.space["COMPILED"])
        bench.warm(rows)
        assert len(bench.space["COMPILED"]) == before + 5


@torch.no_grad()
def test_statistics_over_several_processes_run_as_written(make: Make) -> None:
    bench = make(TEXT.replace("nn.BatchNorm1d", "nn.SyncBatchNorm"))
    bench.warm()
    assert not bench.is_replayed(lambda: bench.model(bench.input()))


@torch.no_grad()
def test_a_capture_that_fails_leaves_the_buffers(make: Make) -> None:
    bench = make(UPDATING.replace("        return torch.tanh", "        assert not FAILING\n        return torch.tanh"))
    bench.train()
    bench.is_as_written()
    bench.space["FAILING"].append(1)
    with pytest.raises(AssertionError):
        bench.model(bench.input())
    bench.space["FAILING"].clear()
    for _ in range(3):
        bench.is_as_written()


@torch.no_grad()
def test_hooks_see_every_call(make: Make) -> None:
    bench = make()
    bench.warm()
    seen: list[torch.Tensor] = []
    hooks = [
        bench.model.linear.register_forward_hook(lambda *given: seen.append(given[-1])),
        bench.model.norm.register_forward_pre_hook(lambda *given: seen.append(given[-1])),
        torch.nn.modules.module.register_module_forward_hook(lambda *given: seen.append(given[-1])),
    ]
    for hook in hooks:
        before = len(seen)
        assert not bench.is_replayed(lambda: bench.model(bench.input()))
        assert len(seen) > before
        hook.remove()
    assert bench.is_replayed(lambda: bench.model(bench.input()))


@torch.no_grad()
def test_the_module_is_saved_copied_and_freed_as_before(make: Make) -> None:
    bench = make()
    bench.warm()
    assert list(bench.model.state_dict()) == list(bench.plain.state_dict())
    assert vars(bench.model).keys() == vars(bench.plain).keys()
    twin = copy.deepcopy(bench.model)
    twin.linear.weight.zero_()
    torch.testing.assert_close(twin(bench.input()), twin(bench.input()))
    x = bench.input()
    torch.testing.assert_close(bench.model(x), bench.plain(x))
    again = pickle.loads(pickle.dumps(bench.model))
    for _ in range(3):
        torch.testing.assert_close(again(x), bench.plain(x))
    gone = weakref.ref(twin)
    del twin
    gc.collect()
    assert gone() is None


@torch.no_grad()
def test_a_subclass_calls_the_forward_of_its_base(make: Make) -> None:
    bench = make()

    class More(bench.space["Model"]):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return super().forward(x) + 1

    more = More().to(bench.device).eval()
    more.load_state_dict(bench.model.state_dict())
    for _ in range(4):
        x = bench.input()
        torch.testing.assert_close(more(x), bench.plain(x) + 1)


def test_modes_have_graphs_of_their_own(make: Make) -> None:
    bench = make()
    with torch.inference_mode():
        bench.warm()
        assert bench.model(bench.input()).is_inference()
    with torch.no_grad():
        bench.warm()
        x = bench.input()
        torch.testing.assert_close(bench.model(x).add_(1), bench.plain(x) + 1)
        torch.set_autocast_enabled("cuda", True)
        try:
            assert not bench.is_replayed(lambda: bench.model(bench.input()))
        finally:
            torch.set_autocast_enabled("cuda", False)


@torch.no_grad()
def test_threads_do_not_write_to_the_same_memory(make: Make) -> None:
    bench = make()
    bench.warm()
    inputs = [bench.input() for _ in range(32)]
    results: list[Any] = [None] * len(inputs)

    @torch.no_grad()
    def work(first: int) -> None:
        for number in range(first, len(inputs), 4):
            results[number] = bench.model(inputs[number])

    threads = [threading.Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for x, result in zip(inputs, results, strict=True):
        torch.testing.assert_close(result, bench.plain(x))


UNUSUAL = {
    "in place": "return x.add_(self.weight)",
    "gaps": "return (x + self.weight)[:, ::2]",
    "input": "return x, x + self.weight",
    "twice": "x = x + self.weight\nreturn x, x",
    "random": "return x + self.weight + torch.rand_like(x)",
    "attribute": "self.last = x + self.weight\nreturn self.last * 2",
    "returned buffer": "return x + 1, self.weight.add_(1)",
    "number": "return x + self.weight, x.shape[0]",
}


@pytest.mark.parametrize("forward", UNUSUAL.values(), ids=UNUSUAL)
@torch.no_grad()
def test_a_forward_that_does_more_runs_as_it_is_written(make: Make, forward: str) -> None:
    bench = make(
        module(f"RUNS.append(1)\n{forward}", "self.register_buffer('weight', torch.ones(16))", more="\nRUNS = []\n")
    )
    for seed in range(4):
        x = bench.input()
        y = x.clone()
        torch.manual_seed(seed)
        result = bench.model(x)
        torch.manual_seed(seed)
        expected = bench.plain(y)
        torch.testing.assert_close(result, expected)
        torch.testing.assert_close(x, y)
        if isinstance(result, torch.Tensor):
            assert result.stride() == expected.stride()
    assert not bench.is_replayed(lambda: bench.model(bench.input()))
    torch.testing.assert_close(bench.model.weight, bench.plain.weight + ("weight.add_" in forward))


@torch.no_grad()
def test_results_keep_their_form(make: Make) -> None:
    text = module(
        "x = torch.tanh(self.linear(x))\nreturn {'a': x, 'b': [x * 2, (x + 1,)]}", "self.linear = nn.Linear(16, 16)"
    )
    bench = make(text)
    for _ in range(4):
        x = bench.input()
        torch.testing.assert_close(bench.model(x), bench.plain(x))


@torch.no_grad()
def test_numbers_of_a_call_tell_graphs_apart(make: Make) -> None:
    text = module("return torch.tanh(self.linear(x)) * times + shift", "self.linear = nn.Linear(16, 16)")
    bench = make(text.replace("def forward(self, x)", "def forward(self, x, times=1.0, *, shift=0)"))
    for _ in range(3):
        for given, named in (((), {}), ((2.0,), {}), ((), {"shift": 3}), ((), {"times": 0.5})):
            x = bench.input()
            torch.testing.assert_close(bench.model(x, *given, **named), bench.plain(x, *given, **named))


@pytest.mark.gpu
@torch.no_grad()
def test_a_capture_around_it_records_the_forward() -> None:
    with pytest.MonkeyPatch.context() as patch:
        bench = Bench(TEXT, "cuda", patch)
    bench.warm()
    given = bench.input()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = bench.model(given)
    for _ in range(2):
        given.copy_(bench.input())
        graph.replay()
        torch.testing.assert_close(result, bench.plain(given))


@pytest.mark.gpu
@torch.no_grad()
def test_streams_have_graphs_of_their_own() -> None:
    with pytest.MonkeyPatch.context() as patch:
        bench = Bench(TEXT, "cuda", patch)
    inputs = [bench.input() for _ in range(8)]
    streams = [torch.cuda.Stream() for _ in range(2)]
    torch.cuda.synchronize()
    results = []
    for number, x in enumerate(inputs):
        with torch.cuda.stream(streams[number % 2]):
            results.append(bench.model(x))
    torch.cuda.synchronize()
    for x, result in zip(inputs, results, strict=True):
        torch.testing.assert_close(result, bench.plain(x))
