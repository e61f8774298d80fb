"""Run by `interpreted`: compares rewritten modules with their baselines.

Reads JSON lists [name, baseline, rewritten text, whether of wide range] from stdin, the last one false where it is left
out, and writes {name: problem} for those that differ. Texts that differ in warps and stages alone, of which the interpreter
knows nothing, are run once.
"""

import importlib.util
import json
import re
import sys
import tempfile
from pathlib import Path

import torch


def load(folder: Path, name: str, text: str):
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def seed(number):
    """As torch.manual_seed, which also formats the stack for each kind of device that is not there, in 0.4 ms."""
    torch.default_generator.manual_seed(number)


def outputs(module, dtype, change):
    seed(0)
    model = module.Model().to(dtype)
    seed(1)
    inputs = [change(t.to(dtype)) if t.is_floating_point() else t for t in module.get_inputs()]
    with torch.no_grad():
        answer = model(*inputs)
    buffers = tuple(model.buffers())  # which a call may change
    return (answer, *buffers) if buffers else answer


def gradients(module, other_mode=False):
    """The answers where autograd is on, the gradients of inputs and parameters that come of them, and the buffers."""
    seed(0)
    model = module.Model()
    model.train(model.training != other_mode)
    seed(1)
    inputs = [t.requires_grad_() if t.is_floating_point() else t for t in module.get_inputs()]
    answers = model(*inputs)
    answers = answers if isinstance(answers, tuple) else (answers,)
    flowing = [t for t in answers if t.requires_grad]
    seed(2)
    # Given gradients, torch.autograd.backward would import sympy in every new process, for a second.
    if flowing:
        sum((t * torch.randn(t.shape, dtype=t.dtype)).sum() for t in flowing).backward()
    leaves = [t for t in (*inputs, *model.parameters()) if t.requires_grad]
    return (*(t.detach() for t in answers), *(t.grad for t in leaves if t.grad is not None), *model.buffers())


def with_nan(t):
    seed(2)
    return t + torch.where(torch.rand(t.shape) < 0.02, float("nan"), 0.0)


def of_wide_range(t):
    """Rows of very different sizes, and an infinity."""
    seed(3)
    t = t * 10.0 ** torch.randint(-9, 9, (t.shape[-2], 1))
    t.view(-1)[t.numel() // 2] = float("inf")
    return t


def in_proportion(tensors, like):
    """Tensors over the largest finite element of each row of `like`."""
    size = torch.where(like.isfinite(), like.abs(), 0.0).amax(-1, keepdim=True)
    return [t / torch.where(size > 0, size, 1.0) for t in tensors]


def strides(t):
    """Those that say where elements are: in a dim of size 1 any stride means the same."""
    return [stride for size, stride in zip(t.shape, t.stride(), strict=True) if size > 1]


def problem(old, new, dtype, slack=1):
    if isinstance(old, tuple):
        return "; ".join(filter(None, (problem(*both, dtype, slack) for both in zip(old, new, strict=True))))
    if (old.shape, old.dtype, strides(old)) != (new.shape, new.dtype, strides(new)):
        return f"{old.shape} {old.dtype} {old.stride()} became {new.shape} {new.dtype} {new.stride()}"
    if not old.is_floating_point():
        different = int((old != new).sum())
        return (
            f"{different} of {old.numel()} differ"
            if different > (0 if dtype is torch.float32 else old.numel() // 10)
            else ""
        )
    tolerance = slack * (3e-6 if dtype is torch.float32 else 6e-3)
    close = {"rtol": tolerance * 3, "atol": tolerance, "equal_nan": True}
    if torch.allclose(new, old, **close):
        return ""
    try:
        torch.testing.assert_close(new, old, **close)  # which says what differs, and takes a second to import
    except AssertionError as error:
        return " ".join(str(error).split())
    return ""


def main():
    problems, computed = {}, set()
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, baseline, rewritten, *wide) in enumerate(json.load(sys.stdin)):
            old = load(Path(folder), f"old{number}", baseline)
            new = load(Path(folder), f"new{number}", rewritten)
            computation = (baseline, re.sub(r"\bnum_(warps|stages)=\d+", "", rewritten), any(wide))
            if computation in computed:
                continue
            computed.add(computation)
            small = sum(t.numel() for t in old.get_inputs()) < 17500
            for label, dtype, change in (
                ("fp32", torch.float32, lambda t: t),
                ("fp32 x 0.01", torch.float32, lambda t: t * 0.01),
                ("fp32 with NaN", torch.float32, with_nan),
                ("fp32 of wide range", torch.float32, of_wide_range),
                ("fp16", torch.float16, lambda t: t),
            ):
                if (label != "fp32" and not small) or (change is of_wide_range and not any(wide)):
                    continue
                exact = change is of_wide_range  # eager mode's own rounding differs between processors
                try:
                    expected = outputs(old, torch.float64 if exact else dtype, change)
                except NotImplementedError:  # eager mode has no fp16 kernel of some pools on a CPU
                    assert dtype is torch.float16
                    continue
                got = outputs(new, dtype, change)
                if exact:
                    expected = expected.to(dtype)
                    expected, got = in_proportion((expected, got), expected)
                found = problem(expected, got, dtype)
                if found:
                    problems[f"{name} ({label})"] = found
            kinds = {"gradients": False} if "torch.is_grad_enabled()" in rewritten else {}
            kinds |= {"in the other mode": True} if ".training" in rewritten else {}
            for label, other_mode in kinds.items():
                try:
                    expected = gradients(old, other_mode)
                except RuntimeError:  # torch cannot differentiate it
                    continue
                got = gradients(new, other_mode)
                found = "gradients are lost" if len(expected) != len(got) else ""
                found = found or problem(expected, got, torch.float32, slack=20)  # sums in another order
                problems |= {f"{name} ({label})": found} if found else {}
    json.dump(problems, sys.stdout)


if __name__ == "__main__":
    main()
