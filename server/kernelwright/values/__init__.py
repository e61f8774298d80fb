"""The frozen values that travel between the rooms; standard library only, so that the worker can load them anywhere."""

from kernelwright.values.checks import CHECKS, CheckKind, Unchecked, unchecked
from kernelwright.values.conversation import NOTHING_SPENT, Conversation, Message, NoReply, Reply, Role, Usage
from kernelwright.values.coverage import Coverage
from kernelwright.values.device import CPU, Device
from kernelwright.values.effort import Effort
from kernelwright.values.graph import Argument, CodeSpan, Graph, Node, TensorRef, TensorType, Value
from kernelwright.values.kernel import Access, Dot, Estimate, Facts, Kernel, Language, Launch, Loop, Reduction
from kernelwright.values.profile import Origin, ProfiledKernel, ProfiledOn, ProfileResult
from kernelwright.values.proof import (
    Accuracy,
    Check,
    Failure,
    FailureKind,
    Measurement,
    Resources,
    Timing,
    Verdict,
    VerdictStatus,
)
from kernelwright.values.refusal import Refusal
from kernelwright.values.roof import Roof
from kernelwright.values.share import KernelShare
from kernelwright.values.step import DETERMINISTIC, STOP, Action, Outcome, Recipe, Step
from kernelwright.values.text import (
    Edits,
    Region,
    StaleEdits,
    TextEdit,
    apply,
    digest,
    encoded,
    know_lines,
    line_starts,
    not_utf8,
)
from kernelwright.values.workload import Call, Case, DType, TensorSpec, Workload, WorkloadSource

__all__ = [
    "CHECKS",
    "CPU",
    "DETERMINISTIC",
    "NOTHING_SPENT",
    "STOP",
    "Access",
    "Accuracy",
    "Action",
    "Argument",
    "Call",
    "Case",
    "Check",
    "CheckKind",
    "CodeSpan",
    "Conversation",
    "Coverage",
    "DType",
    "Device",
    "Dot",
    "Edits",
    "Effort",
    "Estimate",
    "Facts",
    "Failure",
    "FailureKind",
    "Graph",
    "Kernel",
    "KernelShare",
    "Language",
    "Launch",
    "Loop",
    "Measurement",
    "Message",
    "NoReply",
    "Node",
    "Origin",
    "Outcome",
    "ProfileResult",
    "ProfiledKernel",
    "ProfiledOn",
    "Recipe",
    "Reduction",
    "Refusal",
    "Region",
    "Reply",
    "Resources",
    "Role",
    "Roof",
    "StaleEdits",
    "Step",
    "TensorRef",
    "TensorSpec",
    "TensorType",
    "TextEdit",
    "Timing",
    "Unchecked",
    "Usage",
    "Value",
    "Verdict",
    "VerdictStatus",
    "Workload",
    "WorkloadSource",
    "apply",
    "digest",
    "encoded",
    "know_lines",
    "line_starts",
    "not_utf8",
    "unchecked",
]
