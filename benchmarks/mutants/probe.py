"""Run as a program of its own: baseline and mutant side by side on the probe's calls, without any part of the gate.

Reads {"baseline": text, "mutant": text, "lines": […], "suffix": ".py"} from stdin; writes one JSON line before and one after
each call. A mutant that ends the process is known by the line that has no answer.
"""

import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

if not torch.cuda.is_available():
    os.environ["TRITON_INTERPRET"] = "1"

from benchmarks.mutants.probe_values import LAYOUTS, OFFSET, VALUES, Layout, made

from kernelwright.proof.worker.interpreter import rounds
from kernelwright.proof.worker.languages.cuda import LANGUAGE as CUDA
from kernelwright.source.workload import evaluate
from kernelwright.values import Call, TensorSpec

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
FULL = 2  # lines that get every kind of values
# What is more than another order of the same sums: relative to the size of the outputs.
MATERIAL = {torch.float64: 1e-11, torch.float32: 2e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}


def main() -> None:
    job = json.load(sys.stdin)
    with tempfile.TemporaryDirectory() as folder:
        of_cuda = job["suffix"] == ".cu"
        load = CUDA.load if of_cuda else _load
        baseline, mutant = (
            load(f"{folder}/{name}_under_probe{job['suffix']}", job[name], name) for name in ("baseline", "mutant")
        )
        layouts = {OFFSET: LAYOUTS[OFFSET]} if of_cuda else LAYOUTS
        for case, calls, allowed in _cases(baseline, job["lines"], layouts):
            print(json.dumps({"case": case}), flush=True)
            print(json.dumps({"case": case, **_compared(baseline, mutant, calls, allowed)}), flush=True)
        for case, call in _constructions(job["lines"]):
            print(json.dumps({"case": case}), flush=True)
            print(json.dumps({"case": case, **_constructed(baseline, mutant, call)}), flush=True)


def _cases(
    baseline: Any, lines: list[str], layouts: dict[str, Layout]
) -> Iterator[tuple[str, list[tuple[Call, tuple, dict]], bool]]:
    """(name, calls in order, whether the baseline accepts them) of every case."""
    for number, line in enumerate(lines):
        call = evaluate(line)
        kinds = list(VALUES) if number < FULL else ["normal"]
        for kind in kinds:
            yield f"{kind}: {line}", [_call(call, kind, 0)], True
        yield f"two calls: {line}", [_call(call, "normal", 1), _call(call, "normal", 2)], True
        if number < FULL:
            for name, layout in layouts.items():
                viewed = _call(call, "normal", 3, layout)
                yield f"{name}: {line}", [viewed], _same_as_plain(baseline, viewed)


def _constructions(lines: list[str]) -> Iterator[tuple[str, Call]]:
    """The calls that construct a module, whose first parameters are compared, too."""
    for line in lines:
        call = evaluate(line)
        if call.init_args is not None:
            yield f"as constructed: {line}", call


def _call(call: Call, values: str, seed: int, layout: Layout | None = None) -> tuple[Call, tuple, dict]:
    generator = torch.Generator().manual_seed(seed)

    def leaf(value: object) -> object:
        if not isinstance(value, TensorSpec):
            return value
        tensor = made(value, values, DEVICE, generator)
        # An index read from the wrong place may end the process, the baseline's too.
        viewed = tensor.is_floating_point() and (tensor.dim() > 1 or layout is LAYOUTS[OFFSET])
        return layout(tensor) if layout is not None and viewed else tensor

    return call, tuple(leaf(a) for a in call.args), {name: leaf(value) for name, value in call.kwargs.items()}


def _same_as_plain(baseline: Any, viewed: tuple[Call, tuple, dict]) -> bool:
    """Whether the baseline is right on the view: else nothing follows from a mutant that is not."""
    call, args, kwargs = viewed
    plain = tuple(a.contiguous() if isinstance(a, torch.Tensor) else a for a in args)
    try:
        straight = [outputs for outputs, *_ in _run(baseline, [(call, plain, kwargs)], baseline)]
        through = [outputs for outputs, *_ in _run(baseline, [viewed], baseline)]
    except Exception:  # noqa: BLE001  (any refusal of the baseline's)
        return False
    return _difference(straight, through)[0] <= 1


def _compared(baseline: Any, mutant: Any, calls: list, accepted: bool) -> dict[str, Any]:
    """{"skipped"} where the baseline does not take the call; else {"same", "material", "words"}."""
    if not accepted:
        return {"skipped": "the baseline does not take this view"}
    try:
        expected = _run(baseline, calls, baseline)
    except Exception as error:  # noqa: BLE001  (the baseline may refuse anything)
        return {"skipped": f"the baseline raises {type(error).__name__}"}
    try:
        got = _run(mutant, calls, baseline)
    except Exception as error:  # noqa: BLE001  (a mutant may do anything)
        return {"same": False, "material": True, "words": f"raises {type(error).__name__}"}
    size, words = _difference(expected, got)
    return {"same": size == 0, "material": size > 1, "words": words}


def _constructed(baseline: Any, mutant: Any, call: Call) -> dict[str, Any]:
    """Parameters, buffers and mode of two fresh modules."""
    kept = []
    for module in (baseline, mutant):
        torch.manual_seed(0)
        try:
            instance = getattr(module, call.entry)(*call.init_args, **(call.init_kwargs or {}))
        except Exception as error:  # noqa: BLE001  (a mutant may do anything)
            return {"same": False, "material": True, "words": f"the constructor raises {type(error).__name__}"}
        kept.append([instance.training, *(list(pair) for pair in instance.state_dict().items())])
    size, words = _difference(*kept)
    return {"same": size == 0, "material": size > 1, "words": words}


def _run(module: Any, calls: list[tuple[Call, tuple, dict]], baseline: Any) -> list[Any]:
    """Outputs and inputs after the calls, each from its own copy; new memory is full of NaN, or 77 for integers."""
    left: list[Any] = []
    outputs = []
    for number, (call, args, kwargs) in enumerate(calls):
        rounds.next_round(other_order=number > 0)
        own = tuple(_copy(a) for a in args)
        named = {name: _copy(value) for name, value in kwargs.items()}
        target = _target(module, call, baseline)
        torch.manual_seed(0)
        with torch.no_grad(), _Unwritten():
            outputs.append(target(*own, **named))
        left.append((outputs[-1], own, named))
    return left


def _target(module: Any, call: Call, baseline: Any) -> Any:
    """The function, or a module in eval mode with the baseline's parameters, none of them at a neutral value."""
    if call.init_args is None:
        return getattr(module, call.entry)
    instances = []
    for made_from in (module, baseline):
        torch.manual_seed(0)
        instances.append(getattr(made_from, call.entry)(*call.init_args, **(call.init_kwargs or {})).eval())
    instance, pattern = instances
    generator = torch.Generator().manual_seed(7)
    with torch.no_grad():
        for tensor in pattern.state_dict().values():
            if tensor.is_floating_point():
                noise = torch.rand(tensor.shape, generator=generator)
                tensor.mul_(0.7 + 0.6 * noise).add_(0.1 * noise)
    instance.load_state_dict(pattern.state_dict())
    return instance.to(DEVICE)


class _Unwritten:
    """torch.empty and torch.empty_like give memory whose contents nobody would take for an answer."""

    def __enter__(self) -> None:
        self._kept = (torch.empty, torch.empty_like)
        torch.empty, torch.empty_like = (self._filled(made) for made in self._kept)

    def __exit__(self, *_: object) -> None:
        torch.empty, torch.empty_like = self._kept

    @staticmethod
    def _filled(make: Any) -> Any:
        def filled(*args: Any, **kwargs: Any) -> torch.Tensor:
            tensor = make(*args, **kwargs)
            return tensor.fill_(float("nan") if tensor.is_floating_point() else 77)

        return filled


def _difference(expected: Any, got: Any) -> tuple[float, str]:
    """(0 for equal bits, above 1 for what is more than rounding, what it is in words), the largest of all leaves."""
    if isinstance(expected, list | tuple) and isinstance(got, type(expected)) and len(expected) == len(got):
        found = [_difference(a, b) for a, b in zip(expected, got, strict=True)]
        return max(found, default=(0.0, ""))
    if isinstance(expected, dict) and isinstance(got, dict):
        return _difference(list(expected.values()), list(got.values()))
    if not isinstance(expected, torch.Tensor):
        return (0.0, "") if type(expected) is type(got) and expected == got else (9.0, f"{got!r} for {expected!r}")
    form = (expected.shape, expected.dtype, expected.device)
    if not isinstance(got, torch.Tensor) or (got.shape, got.dtype, got.device) != form:
        return 9.0, "another type, shape or dtype"
    return _of_tensors(expected.detach(), got.detach())


def _of_tensors(expected: torch.Tensor, got: torch.Tensor) -> tuple[float, str]:
    a, b = expected.to(torch.float64), got.to(torch.float64)
    differs = ~((a == b) | (a.isnan() & b.isnan()))
    if not bool(differs.any()):
        return (0.0, "") if expected.stride() == got.stride() else (0.5, "other strides")
    if not expected.is_floating_point():
        return 9.0, f"{int(differs.sum())} of {a.numel()} whole numbers differ"
    if bool((differs & ~(a.isfinite() & b.isfinite())).any()):
        return 9.0, "NaN or infinity in other places"
    finite = a[a.isfinite()]
    relative = float(((a - b).abs()[differs] / (a.abs()[differs] + float(finite.square().mean().sqrt()))).max())
    return max(relative / MATERIAL[expected.dtype], 0.01), f"relative {relative:.1e}"


def _copy(value: Any) -> Any:
    """A tensor with the same strides and offset in memory of its own; anything else as it is."""
    if not isinstance(value, torch.Tensor):
        return value
    if any(stride == 0 and size > 1 for size, stride in zip(value.shape, value.stride(), strict=True)):
        return value[:1].clone().expand(value.shape)
    span = 1 + sum((size - 1) * stride for size, stride in zip(value.shape, value.stride(), strict=True))
    if not value.numel():
        return value.clone()
    whole = torch.as_strided(value, (value.storage_offset() + span,), (1,), 0).clone()
    return torch.as_strided(whole, value.shape, value.stride(), value.storage_offset())


def _load(file: str, text: str, name: str) -> Any:
    path = Path(file)
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None  # a file that exists
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
