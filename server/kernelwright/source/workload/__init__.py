"""How a kernel is called: workload lines and the KernelBench convention. Standard library only, shared with the worker.

What guesses lines, in `suggest` and `benchmark`, is loaded by who asks for guesses.
"""

from kernelwright.source.workload.evaluate import WorkloadError, evaluate
from kernelwright.source.workload.find import any_workload, find_workload, performance_calls, workload_lines
from kernelwright.source.workload.problems import WorkloadProblem, problems

__all__ = [
    "WorkloadError",
    "WorkloadProblem",
    "any_workload",
    "evaluate",
    "find_workload",
    "performance_calls",
    "problems",
    "workload_lines",
]
