"""A kept step as one script that anyone can run: both texts, the workload's call, a plain comparison and a plain timing.

The script needs torch (and Triton for Triton code), not Kernelwright. It checks far less than the gate and says so.
"""

import textwrap
from collections.abc import Iterator, Mapping
from importlib.resources import files

from kernelwright import words
from kernelwright.source.document import parse
from kernelwright.source.imports import imports_triton
from kernelwright.source.kernels import find_kernels
from kernelwright.source.workload import evaluate, find_workload
from kernelwright.values import Call, DType, Made, Namespace, Outcome, Refusal, Step, TensorSpec, Workload
from kernelwright.values.plain import plain

_HEAD = '''"""{title}

{said}

This script runs both texts on the first workload, compares their results on a few seeds, and times them. That is a
plain check: far less than what the step had to pass, which `kernelwright verify` runs again.
"""

import importlib.util
{os}import random
import statistics
import sys
import tempfile
import time
from pathlib import Path
from types import ModuleType{namespace}

import torch
from torch.utils._pytree import tree_leaves, tree_map
'''

_INTERPRETER = (
    "if not torch.cuda.is_available():",
    '    os.environ["TRITON_INTERPRET"] = "1"  # before Triton is imported',
    "",
)


def script_of(step: Step, baseline: str | None, candidate: str | None) -> str | Refusal:
    """The script for `step`, which made `candidate` and was judged against `baseline`: the whole texts of the file."""
    if step.outcome is not Outcome.KEPT:
        return Refusal(f"Step {step.id} was {step.outcome}, not kept: there is nothing to reproduce.")
    if baseline is None or candidate is None:
        return Refusal("The journal no longer has the texts of this step.")
    kernel = next((k for k in find_kernels(parse(candidate)) if k.name == step.kernel), None)
    workload = find_workload(candidate, kernel.entry) if kernel is not None else None
    if not isinstance(workload, Workload):
        return workload or Refusal(f"The text after the step has no kernel {step.kernel}.")
    triton = imports_triton(baseline) or imports_triton(candidate)
    call = evaluate(workload.cases[0].text) if workload.cases else None
    called = _call(call)
    return "\n".join(
        (
            _HEAD.format(
                title=_in_a_docstring(f"{step.kernel}: {step.action.strategy}"),
                said="\n".join(_said(step)),
                os="import os\n" if triton else "",
                namespace=", SimpleNamespace" if any("SimpleNamespace(" in line for line in called) else "",
            ),
            *(_INTERPRETER if triton else ()),
            f"ENTRY = {_quoted(workload.entry)}",
            f"GRID = {call.grid if call is not None else None}",
            f"GRADIENTS = {call is not None and any(s.requires_grad for s in _specs((call.args, call.kwargs)))}",
            "",
            "",
            *called,
            "",
            "",
            f"BASELINE = {_literal(baseline)}",
            "",
            f"CANDIDATE = {_literal(candidate)}",
        )
    ) + files(__name__).joinpath("script.txt").read_text(encoding="utf-8")


def _said(step: Step) -> list[str]:
    """Lines with what was said of the step, and under which conditions; no number without a passing verdict."""
    lines = [_in_a_docstring(line) for line in textwrap.wrap(plain(words.of_step(step)), 110)]
    if words.measured(step.verdict, step.measurement) and step.measurement is not None:
        lines += [_in_a_docstring(f"- {name}: {value}") for name, value in step.measurement.conditions.items()]
    return lines


def _call(call: Call | None) -> list[str]:
    """Two functions: what the entry is constructed with, None for a function, and what it is called with."""
    head = ["def initial(module):"]
    between = ["", "", "def arguments(module):"]
    if call is None:
        return [
            *head,
            '    return tuple(getattr(module, "get_init_inputs", tuple)()), {}',
            *between,
            "    return tuple(module.get_inputs()), {}",
        ]
    made = "None" if call.init_args is None else f"{_source(call.init_args)}, {_source(call.init_kwargs or {})}"
    return [*head, f"    return {made}", *between, f"    return {_source(call.args)}, {_source(dict(call.kwargs))}"]


def _specs(tree: object) -> list[TensorSpec]:
    match tree:
        case TensorSpec():
            return [tree]
        case dict():
            return [spec for value in tree.values() for spec in _specs(value)]
        case list() | tuple():
            return [spec for value in tree for spec in _specs(value)]
    return []


def _source(value: object) -> str:
    """Python for a value of an evaluated workload line."""
    match value:
        case TensorSpec():
            return _tensor(value)
        case DType():
            return f"torch.{value.name}"
        case Made():
            return f"module.{value.name}({', '.join((*map(_source, value.args), *_named(value.kwargs)))})"
        case Namespace():
            return f"SimpleNamespace({', '.join(_named(value.fields))})"
        case dict():
            return "{" + ", ".join(f"{_source(key)}: {_source(item)}" for key, item in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(_source, value)) + "]"
        case tuple():
            return f"({', '.join(map(_source, value))}{',' * (len(value) == 1)})"
        case str():
            return _quoted(value)
        case float():
            return repr(value) if value - value == 0 else f'float("{value}")'
    return repr(value)


def _named(values: Mapping[str, object]) -> Iterator[str]:
    return (f"{name}={_source(value)}" for name, value in values.items())


def _tensor(spec: TensorSpec) -> str:
    usual = TensorSpec(spec.generator, spec.shape)
    named = ("dtype", "parameters", "layout", "role", "requires_grad", "strides")
    options = [
        f"{name}={_source(getattr(spec, name))}" for name in named if getattr(spec, name) != getattr(usual, name)
    ]
    return f"tensor({', '.join((_quoted(spec.generator), repr(spec.shape), *options))})"


def _quoted(text: str) -> str:
    return f'"{text}"' if text.isprintable() and not set(text) & set("'\"\\") else repr(text)


def _literal(text: str) -> str:
    """The text as a literal that can be read, where triple quotes can hold it; else line by line."""
    readable = "\\" not in text and all(letter.isprintable() or letter in "\n\t" for letter in text)
    for quotes in ('"""', "'''"):
        if readable and quotes not in text and not text.endswith(quotes[0]):
            return f"{quotes}\\\n{text}{quotes}"
    return "(\n" + "".join(f"    {line!r}\n" for line in text.splitlines(keepends=True)) + ")"


def _in_a_docstring(text: str) -> str:
    """One line of words that others have written, which neither ends the docstring nor acts where the script is shown."""
    return plain(text).replace("\\", "\\\\").replace('"""', "'''")
