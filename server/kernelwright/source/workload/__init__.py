"""How a kernel is called: workload lines and the KernelBench convention. Standard library only, shared with the worker."""

from kernelwright.source.workload.benchmark import few_of, from_benchmark
from kernelwright.source.workload.evaluate import WorkloadError, evaluate
from kernelwright.source.workload.find import any_workload, find_workload, performance_calls, workload_lines
from kernelwright.source.workload.problems import WorkloadProblem, problems
from kernelwright.source.workload.suggest import suggest_lines, with_gradients

__all__ = [
    "WorkloadError",
    "WorkloadProblem",
    "any_workload",
    "evaluate",
    "few_of",
    "find_workload",
    "from_benchmark",
    "performance_calls",
    "problems",
    "suggest_lines",
    "with_gradients",
    "workload_lines",
]
