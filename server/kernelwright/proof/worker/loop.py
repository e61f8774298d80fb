"""The worker's loop: take a job from the private pipe, let its handler answer, send the answer."""

import importlib
from collections.abc import Callable

from kernelwright.proof.jobs import Answer, Capture, Compile, Job, Probe, Race, Trial

Report = Callable[[str], None]
Handler = Callable[[Job, Report], Answer]

# Imported when first needed: (module in this package, function).
HANDLERS: dict[type, tuple[str, str]] = {
    Probe: ("probe", "probe"),
    Capture: ("capture", "capture"),
    Compile: ("compile", "compile_subject"),
    Trial: ("trial", "run_trial"),
    Race: ("race", "run_race"),
}


def handler_of(job: Job) -> Handler:
    """The function that answers this kind of job."""
    module, function = HANDLERS[type(job)]
    return getattr(importlib.import_module(f"{__package__}.{module}"), function)
