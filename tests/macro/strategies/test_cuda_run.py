"""What CUDA strategies make of their examples computes the same, in the emulator: at odd sizes, unaligned, and in place."""

import contextlib
import dataclasses
import re
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest
import torch

from kernelwright.macro.strategies import for_language, registry
from kernelwright.macro.strategy import Strategy, ask
from kernelwright.proof.worker.languages.cuda import LANGUAGE
from kernelwright.source.workload import evaluate
from kernelwright.values import Call, Language, TensorSpec
from macro.cuda_files import H200, rewritten

SMALL = dataclasses.replace(H200, multiprocessors=1)
MECHANICAL = {one.id: one for one in for_language(Language.CUDA) if one.intent is not ask}
CASES = (((1, 1, 1), 0), ((31, 33, 2), 1), ((33, 5, 31), 0), ((127, 17, 3), 1), ((1009, 1, 13), 0), ((5003, 3, 2), 0))
"""Sizes, and how many elements behind an aligned address tensors begin."""
IN_PLACE = {
    "cuda.vectorise-access": ("x", "y"),
    "cuda.grid-stride": ("image", "out"),
    "cuda.fuse-kernels": ("x", "out"),
    "cuda.launch-geometry": ("a", "out"),
}
Tensors = dict[str, torch.Tensor]
REFERENCES: dict[str, tuple[str, Callable[[Tensors, Call], torch.Tensor]]] = {
    "cuda.vectorise-access": ("y", lambda t, _: torch.nn.functional.gelu(t["x"])),
    "cuda.grid-stride": ("out", lambda t, call: t["image"] * _turn(call)),
    "cuda.fuse-kernels": ("out", lambda t, call: t["x"] * call.kwargs["factor"] + t["y"]),
    "cuda.launch-geometry": ("out", lambda t, _: torch.lerp(t["a"], t["b"], 0.5)),
    "cuda.restrict-const": ("y", lambda t, _: t["A"].view(-1, len(t["x"])) @ t["x"]),
    "cuda.fast-math": ("y", lambda t, call: t["x"].view(-1, call.kwargs["columns"]).softmax(-1).view(-1)),
    "cuda.privatise-atomics": (
        "counts",
        lambda t, _: torch.bincount((t["x"].abs() * 16).int(), minlength=len(t["counts"]))[: len(t["counts"])].int(),
    ),
    "cuda.parallel-scan": ("y", lambda t, call: t["x"].view(-1, call.kwargs["columns"]).cumsum(1).view(-1)),
    "cuda.unroll": (
        "out",
        lambda t, _: (t["points"].view(len(t["centre"]), -1) - t["centre"][:, None]).square().sum(0),
    ),
}


def _turn(call: Call) -> torch.Tensor:
    angle = torch.tensor(call.kwargs["angle"])
    return angle.cos() + angle.sin() * 0.5


def calls(strategy: Strategy) -> Iterator[tuple[Call, int]]:
    """The workload line of the example with other sizes, and how far tensors are shifted."""
    line = strategy.example.before.split("workload: ")[1].split("\n")[0]
    names = [name for name, value in evaluate(line).kwargs.items() if isinstance(value, int)]
    for sizes, shift in CASES:
        text = line
        for name, size in zip(names, sizes, strict=False):
            text = re.sub(rf"\b{name}=[^,()]+(?=[,)])", f"{name}={size}", text)
        yield evaluate(text), shift


def tensors(call: Call, shift: int) -> Tensors:
    """Random inputs, and outputs full of NaN, `shift` elements behind an aligned address."""
    made, generator = {}, torch.Generator().manual_seed(0)
    for name, spec in call.kwargs.items():
        if isinstance(spec, TensorSpec):
            assert spec.generator in ("randn", "empty")
            all_ = torch.randn(spec.shape[0] + 8, generator=generator)
            given = all_ if spec.role != "out" else all_.fill_(torch.nan if spec.dtype == "float32" else -7)
            made[name] = given.to(getattr(torch, spec.dtype))[shift : shift + spec.shape[0]]
    return made


def ran(module: object, call: Call, given: Tensors) -> Tensors:
    getattr(module, call.entry)(**{**call.kwargs, **given})
    return given


@contextlib.contextmanager
def loaded(strategy: Strategy) -> Iterator[list[ModuleType]]:
    """The modules of an example, and of what the strategy makes of it for a small device."""
    texts = (strategy.example.before, rewritten(strategy, strategy.example.before, device=SMALL)[0])
    modules = [LANGUAGE.load("/nowhere/example.cu", text, "test") for text in texts]
    yield modules
    for module in modules:
        LANGUAGE.unload(module)


@pytest.mark.parametrize("strategy", MECHANICAL.values(), ids=MECHANICAL)
def test_the_example_computes_the_same(strategy) -> None:
    with loaded(strategy) as (before, after):
        for call, shift in calls(strategy):
            one, other = (ran(module, call, tensors(call, shift)) for module in (before, after))
            for name, value in one.items():
                rtol = 1e-4 if value.dtype != torch.float16 else 1e-3  # the spacing of 16-bit numbers
                assert torch.allclose(value, other[name], rtol=rtol, atol=1e-5, equal_nan=True), (call, name)
            if strategy.id in REFERENCES:
                name, reference = REFERENCES[strategy.id]
                assert torch.allclose(one[name], reference(one, call), rtol=1e-4, atol=1e-4), (call, name)


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name) -> None:
    strategy, (source, target) = registry()[name], IN_PLACE[name]
    with loaded(strategy) as modules:
        for call, shift in calls(strategy):
            one, other = (tensors(call, shift) for _ in modules)
            for given, module in zip((one, other), modules, strict=True):
                ran(module, call, {**given, target: given[source]})
            assert torch.allclose(one[source], other[source], rtol=1e-5), call
