"""What is taken from the raw runs of each benchmark: one row for each, by the name that its files begin with."""

from collections.abc import Callable, Mapping
from typing import Any

from benchmarks.figures import editor, gate, models, speed
from benchmarks.summary import Sum

BENCHMARKS: Mapping[str, Callable[[Any], Sum]] = {
    "aa": gate.against_itself,
    "accuracy": gate.accuracy,
    "autopilot": speed.autopilot,
    "census": speed.census,
    "cpu_pinning": speed.cpu_pinning,
    "cuda_examples": speed.cuda_examples,
    "cuda_files": speed.cuda_files,
    "examples": speed.examples,
    "extension": editor.extension,
    "faults": gate.faults,
    "incremental": editor.incremental,
    "kernelbench": speed.kernelbench,
    "latency": editor.latency,
    "llm": models.llm,
    "lsp_scenario": editor.scenario,
    "mutants": gate.mutants,
    "planted": gate.planted_work,
    "real_files": editor.real_files,
    "real_kernels": speed.real_kernels,
    "reviewed": gate.reviewed,
    "server_start": editor.server_start,
    "verdict_cost": gate.verdict_cost,
}
