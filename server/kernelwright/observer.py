"""What is known of a kernel: read from its text and the journal, then completed by a worker (device, op graph, resources).

The graphs asked for last are remembered by text and performance case, the device until a worker has failed.
"""

import asyncio
import dataclasses
from collections.abc import Callable

from kernelwright.journal import Journal
from kernelwright.languages import LanguageSupport, absence
from kernelwright.languages.kept import kept_by, with_kept
from kernelwright.languages.python import SUPPORT as PYTHON
from kernelwright.macro.strategy import Observation
from kernelwright.proof.client import Workers
from kernelwright.proof.jobs import Capture, Compile, CompileResult, Subject
from kernelwright.settings import Settings
from kernelwright.values import (
    CPU,
    Device,
    Failure,
    FailureKind,
    Graph,
    Kernel,
    Language,
    Refusal,
    Workload,
    digest,
    files_of,
    not_utf8,
    with_pages_of,
)
from kernelwright.values.targets import DEFAULT_TARGET, target

Report = Callable[[str], None]
Nothing = Refusal | Failure

_MOST_GRAPHS = 64


def silent(stage: str) -> None:
    """A Report for callers that show no progress."""


class Observer:
    """Makes Observations of one workspace's kernels."""

    def __init__(self, settings: Settings, workers: Workers, journal: Journal) -> None:
        self.settings = settings
        self.workers = workers
        self.journal = journal
        self.known_device: Device | None = None
        self._graphs: dict[tuple[str, str], Graph | Failure] = {}

    def observe(
        self,
        path: str,
        text: str,
        kernel_name: str,
        kernel: Kernel | None = None,
        support: LanguageSupport = PYTHON,
    ) -> Observation | Refusal:
        """What is known of a kernel right now. The device is a CPU, and there is no graph, until a worker has said more.

        `kernel`, where the caller has already found it in this very text, saves parsing the text again.
        """
        if (line := not_utf8(text)) is not None:
            return Refusal(
                f"Line {line + 1} is not valid UTF-8, so Python cannot load the file; save it as UTF-8.", line
            )
        support = self.language(path, text, support)
        if kernel is None:
            kernels = support.kernels(text)
            kernel = next((k for k in kernels if k.name == kernel_name), None)
            if kernel is None:
                return Refusal(f"This file {absence(support, text, kernels, kernel_name)}")
        workload = support.workload(text, kernel.entry)
        known = self._known_graph(text, workload) if isinstance(workload, Workload) else None
        return Observation(
            path=path,
            text=text,
            kernel=kernel,
            workload=workload if isinstance(workload, Workload) else None,
            device=self.known_device or CPU,
            graph=known,
            history=self.journal.steps(path, kernel_name),
            support=support,
            reduced=self.settings.accept_reduced_accuracy,
        )

    def language(self, path: str, text: str, support: LanguageSupport) -> LanguageSupport:
        """The language with the workload lines that the journal keeps for the files of a text, unless it has some already."""
        lines = () if kept_by(support) else (one for file in files_of(path, text) for one in self.journal.lines(file))
        return support if kept_by(support) else with_kept(support, tuple(lines))

    def baseline(self, path: str, kernel: str, text: str) -> str | None:
        """What the journal has a kernel judged against, of the files that `text` is of; None before the first kept Step."""
        kept = self.journal.baseline(path, kernel)
        return None if kept is None else with_pages_of(kept, text)

    def called_as(
        self, workload: Workload, path: str, text: str, kernel_name: str, support: LanguageSupport = PYTHON
    ) -> Observation | None:
        """Another version of a kernel, called as `workload` says; None where it has no such kernel."""
        found = self.observe(path, text, kernel_name, support=support)
        if isinstance(found, Refusal):
            return None
        return dataclasses.replace(found, workload=workload, graph=self._known_graph(text, workload))

    def _known_graph(self, text: str, workload: Workload) -> Graph | None:
        known = self._graphs.get(_graph_key(text, workload)) if self._graphs else None  # the key reads the whole text
        return known if isinstance(known, Graph) else None

    async def device(self) -> Device | Failure:
        """What the worker's interpreter sees."""
        device = await self.workers.device()
        self.known_device = device if isinstance(device, Device) else None
        return device

    async def observe_fully(
        self,
        path: str,
        text: str,
        kernel_name: str,
        report: Report = silent,
        cancel: asyncio.Event | None = None,
        support: LanguageSupport = PYTHON,
    ) -> Observation | Nothing:
        """An Observation with the device and, for PyTorch, the captured graph."""
        report("Looking at the device")
        device = await self.device()
        if isinstance(device, Failure):
            return device
        observation = self.observe(path, text, kernel_name, support=support)
        if isinstance(observation, Refusal):
            return observation
        if observation.workload is None:
            missing = observation.support.workload(text, observation.kernel.entry)
            return missing if isinstance(missing, Refusal) else Refusal("This kernel has no workload.")
        if observation.kernel.language is not Language.TORCH:
            return observation
        graph = await self.capture(observation, report, cancel)
        if isinstance(graph, Failure):
            return graph
        return dataclasses.replace(observation, graph=graph)

    async def resources(
        self, observation: Observation, report: Report = silent, cancel: asyncio.Event | None = None
    ) -> CompileResult | Nothing:
        """Registers, shared memory and occupancy of the kernels that the workload launches; nothing is run."""
        if observation.workload is None:
            return Refusal("This kernel has no workload, so its launches are not known.")
        report("Compiling")
        answer = await self.workers.run(
            Compile(subject_of(observation), self.compute_capability),
            timeout=self.settings.verify_timeout,
            report=report,
            cancel=cancel,
        )
        assert isinstance(answer, CompileResult | Failure)
        return answer

    async def capture(self, observation: Observation, report: Report, cancel: asyncio.Event | None) -> Graph | Failure:
        """The op graph of a PyTorch kernel on its workload, which the Observation must have."""
        assert observation.workload is not None
        key = _graph_key(observation.text, observation.workload)
        if key not in self._graphs:
            report("Capturing the op graph")
            answer = await self.workers.run(
                Capture(subject_of(observation)),
                timeout=self.settings.capture_timeout,
                report=report,
                cancel=cancel,
            )
            assert isinstance(answer, Graph | Failure)
            if isinstance(answer, Failure) and answer.kind is not FailureKind.NOT_CAPTURED:
                return answer  # may be another time: not remembered
            self._graphs[key] = answer
            while len(self._graphs) > _MOST_GRAPHS:
                del self._graphs[next(iter(self._graphs))]
        self._graphs[key] = self._graphs.pop(key)  # the last to be forgotten
        return self._graphs[key]

    @property
    def compute_capability(self) -> int:
        """Of the GPU that kernels are compiled for."""
        if self.known_device and self.known_device.compute_capability:
            return self.known_device.compute_capability
        return named_target(self.settings).compute_capability or 90


def named_target(settings: Settings) -> Device:
    """The GPU that facts are compiled for on a machine without one."""
    return target(settings.target) or DEFAULT_TARGET


def subject_of(observation: Observation) -> Subject:
    """The observed text and how to call it, for a job; the Observation must have a workload."""
    assert observation.workload is not None
    unit = observation.unit
    return Subject(observation.path, unit.run, observation.workload, unit.language)


def run_text(observation: Observation, text: str) -> str:
    """What a worker runs of a version of the observed text."""
    return observation.support.unit(text, observation.kernel).run


def _graph_key(text: str, workload: Workload) -> tuple[str, str]:
    return digest(text), workload.described
