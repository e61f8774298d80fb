"""A few small calls under NVIDIA's compute-sanitizer, which looks at every access of a kernel on the GPU itself.

What the baseline does itself is not held against a candidate.
"""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from kernelwright.proof.worker.bench import Bench, Report
from kernelwright.proof.worker.construct import targets_for
from kernelwright.proof.worker.gate.arguments import make_inputs
from kernelwright.proof.worker.gate.cap import cap
from kernelwright.proof.worker.gate.cases import for_gradients
from kernelwright.proof.worker.gate.effort import SCOPES, variations
from kernelwright.proof.worker.gate.grounds import grounds
from kernelwright.proof.worker.gate.pinned import workload
from kernelwright.proof.worker.hosts import under_sanitizer
from kernelwright.proof.worker.hosts.under_sanitizer import Asked, Call, laid_out
from kernelwright.proof.worker.inputs import Inputs, map_tensors, specs_in
from kernelwright.proof.worker.reference.pair import state_of
from kernelwright.proof.worker.rejected import NotAccepted, Rejected
from kernelwright.proof.worker.targets import Targets
from kernelwright.proof.worker.toolchain import sanitizer
from kernelwright.proof.worker.toolchain.sanitizer import Tool
from kernelwright.proof.worker.variation import Variation
from kernelwright.values import Check, Unchecked

_ELEMENTS = 1 << 15  # of a call's tensors: each access takes many times as long
_SECONDS, _BUDGET = 90.0, 120.0  # for one tool's calls, and after which no further tool is begun


def sanitize(bench: Bench, report: Report) -> None:
    """The checks that are named after its tools. Raises Rejected; the verdict says which could not be made, and why."""
    if not is_wanted(bench):
        return
    program, unmade = sanitizer.found(), bench.evidence.unmade
    tools = [tool for tool in sanitizer.TOOLS if tool.needs in bench.trial.candidate]
    if program is None:
        unmade += [Unchecked(tool.name, sanitizer.MISSING) for tool in tools]
        return
    calls, until = _calls(bench), time.monotonic() + _BUDGET
    with tempfile.TemporaryDirectory(prefix="kernelwright-sanitizer-", ignore_cleanup_errors=True) as folder:
        for tool in tools:
            if time.monotonic() > until:
                unmade.append(Unchecked(tool.name, "the other tools of compute-sanitizer took too long"))
                continue
            report(f"Verifying: under compute-sanitizer's {tool.name}")
            _look(bench, program, tool, calls, Path(folder))


def is_wanted(bench: Bench) -> bool:
    """Whether kernels that the text itself holds run on a GPU, and the effort asks for it."""
    text, language = bench.trial.candidate, bench.language
    here = bench.device == "cuda" and SCOPES[bench.trial.limits.effort].sanitizer
    return here and bool(language.kernels(text)) and not language.compiles(text)


def _look(bench: Bench, program: str, tool: Tool, calls: tuple[Call, ...], folder: Path) -> None:
    trial, evidence = bench.trial, bench.evidence
    asked = lambda path, text: Asked(path, text, trial.language, bench.device, trial.workload, calls)
    how = {"seconds": _SECONDS}
    found = under_sanitizer.run(
        program, tool, asked(trial.path, trial.candidate), folder / f"candidate-{tool.name}", **how
    )
    if found.why:
        evidence.unmade.append(Unchecked(tool.name, f"compute-sanitizer could not be used: {found.why}"))
    elif not found.fault:
        evidence.checks.append(Check(tool.name, found.case, True, tool.passed))
    else:
        own = under_sanitizer.run(
            program, tool, asked(trial.home, trial.baseline), folder / f"baseline-{tool.name}", **how
        )
        if not own.fault or own.begun > found.begun:
            raise Rejected(tool.name, found.case, found.fault)
        evidence.caveats.append(f"with faults that {tool.name} finds in the baseline, too")
        evidence.unmade.append(Unchecked(tool.name, f"the baseline has such a fault, too: {own.fault}"))


def _calls(bench: Bench) -> tuple[Call, ...]:
    """The workload's first line, made small where the baseline takes that, and the same with sizes at two boundaries."""
    limits = bench.trial.limits
    small, *others = for_gradients(
        workload(bench), first_seed=limits.first_seed, most_elements=min(_ELEMENTS, cap(bench) or _ELEMENTS), every=True
    )
    made = tuple(_taken(bench, [small, *others[:1], *others[1:][-1:]]))
    if made:
        return made
    first = variations(workload(bench), limits, cap(bench))[0]
    return (_call(bench, first, targets_for(bench, first), make_inputs(bench, first)),)


def _taken(bench: Bench, planned: Sequence[Variation]) -> list[Call]:
    """The calls that the baseline answers, if it answers the first one."""
    made: list[Call] = []
    for one in planned:
        variation = replace(one, derived=True)
        try:
            targets, inputs = targets_for(bench, variation), make_inputs(bench, variation)
            grounds(bench, variation, targets, inputs)
        except NotAccepted:
            if not made:
                return made
        else:
            made.append(_call(bench, variation, targets, inputs))
    return made


def _call(bench: Bench, variation: Variation, targets: Targets, inputs: Inputs) -> Call:
    call, module = variation.call, targets.baseline
    specs = [] if call is None else list(specs_in((call.args, dict(call.kwargs))))
    unwritten = [at for at, spec in enumerate(specs) if spec.role == "out"]
    away = lambda tensor: laid_out(tensor, "cpu")
    is_module = isinstance(module, torch.nn.Module)
    return Call(
        variation.described,
        inputs.changed(away),
        unwritten,
        variation.seed,
        targets.init.changed(away),
        bench.trial.limits.first_seed,
        is_module,
        is_module and module.training,
        map_tensors(away, state_of(module)),
    )
