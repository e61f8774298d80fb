"""A strategy's view of a file with a KernelBench-like workload, captured here."""

from pathlib import Path

from kernelwright.macro.strategy import Observation
from kernelwright.proof.jobs import Capture, Subject
from kernelwright.proof.worker.graph.capture import capture
from kernelwright.values import CPU, Graph, Kernel, Language, Workload, WorkloadSource


def captured(text: str, entry: str = "Model") -> Graph:
    """The op graph of the text's own workload."""
    workload = Workload(WorkloadSource.KERNELBENCH, entry)
    return capture(Capture(Subject(str(Path.cwd() / "module.py"), text, workload)), lambda _: None)


def observe(text: str, entry: str = "Model") -> Observation:
    lines = len(text.splitlines())
    kernel = Kernel(Language.TORCH, entry, 0, lines, 0, 0, entry, is_module=True)
    workload = Workload(WorkloadSource.KERNELBENCH, entry)
    return Observation("module.py", text, kernel, workload, CPU, captured(text, entry))
