"""The checks that a verdict is made of, by the names that it gives them."""

from collections.abc import Collection
from dataclasses import dataclass


@dataclass(frozen=True)
class CheckKind:
    """One row of CHECKS.

    `part`: what of a candidate it looks at. `shows`: what passing it shows. `cost`: what it takes besides the calls whose
    values are compared, "" for nothing. `missing`: why a passing verdict may lack it; "" where none does, or where it is
    told only when it fails.
    """

    part: str
    name: str
    shows: str
    cost: str = ""
    missing: str = ""


@dataclass(frozen=True)
class Unchecked:
    """A check that was not made of a candidate, and why."""

    name: str
    why: str


_FORM, _NUMBERS, _MEMORY, _CALLS, _PROCESS, _CLOCK = "Form", "Numbers", "Memory", "Calls", "Process", "Clock"
_COVERED = "Coverage"
_SAME_FORM = "same types and nesting, plain tensors that own their memory"
_LEAST_STATE = "inputs, buffers and parameters change only where the baseline changes them, and alike"
_SANITIZED = (
    "on a GPU at effort paranoid, NVIDIA's compute-sanitizer sees of the text's kernels no access out of bounds or misaligned, "
    "no race in shared memory, and no read of global memory that nothing has written"
)
_UNTOUCHED = (
    "numerical settings, environment, seeds, clocks and comparison functions are left as the baseline leaves them"
)

# In the order of docs/trust.md, whose table this is.
CHECKS = (
    CheckKind(
        _FORM,
        "interface",
        "public functions and classes take what the baseline's take, and raise where its own `raise` and `assert` do",
        cost="a call for each wrong argument",
    ),
    CheckKind(_FORM, "runs", "the text loads and does not raise where the baseline does not"),
    CheckKind(
        _FORM,
        "compiles",
        "without a GPU, too: the Triton kernels that the workload launches compile for one",
        cost="a compilation of each",
    ),
    CheckKind(_FORM, "exit-status", "a program ends with the baseline's exit status"),
    CheckKind(_FORM, "parameters", "a checkpoint of the baseline loads"),
    CheckKind(_FORM, "structure", _SAME_FORM),
    CheckKind(_FORM, "shape", _SAME_FORM),
    CheckKind(_FORM, "dtype", _SAME_FORM),
    CheckKind(_FORM, "device", _SAME_FORM),
    CheckKind(_FORM, "layout", "strides as the baseline's, or contiguous"),
    CheckKind(_NUMBERS, "values", "every element is within the dtype's usual tolerance of the fp64 run"),
    CheckKind(_NUMBERS, "accuracy", "errors are like the baseline's own (below)"),
    CheckKind(_NUMBERS, "nan-parity", "NaN and infinities where the baseline has them and nowhere else"),
    CheckKind(
        _NUMBERS,
        "printed",
        "a program prints the baseline's text, whole numbers exactly, others within their last digit and rounding",
        cost="two runs of each program, and two and more of the baseline's",
    ),
    CheckKind(
        _NUMBERS,
        "gradient",
        "gradients of inputs and parameters are the baseline's for random cotangents, on small sizes",
        cost="a backward pass for each size",
        missing="the baseline has no gradient, or none could be compared",
    ),
    CheckKind(
        _NUMBERS,
        "trivial-answers",
        "informs only: in how many runs zeros, a constant or a copied input would have failed",
    ),
    CheckKind(
        _MEMORY,
        "nan-poison",
        "same answer when freshly allocated memory is full of NaN",
        cost="one more call in most cases",
        missing="no call in poisoned memory could be compared",
    ),
    CheckKind(
        _MEMORY,
        "out-of-bounds",
        "no access beyond a tensor: every one without a GPU; on a GPU in the poisoned calls, against unmapped pages",
        cost="on a GPU, the poisoned calls run between unmapped pages",
        missing="looked for without a GPU, and on a GPU where the baseline keeps within its tensors",
    ),
    CheckKind(
        _MEMORY,
        "race",
        "without a GPU only: no two programs, or threads of CUDA, touch an element, one writing, with nothing that orders them",
        missing="looked for without a GPU only",
    ),
    CheckKind(
        _MEMORY,
        "memcheck",
        _SANITIZED,
        cost="three small calls in a process of their own for each; a text could forge what the tool writes",
    ),
    CheckKind(_MEMORY, "racecheck", _SANITIZED),
    CheckKind(_MEMORY, "initcheck", _SANITIZED),
    CheckKind(_MEMORY, "inputs-unchanged", _LEAST_STATE),
    CheckKind(
        _MEMORY, "state", _LEAST_STATE, cost="two and three calls in a row, where the baseline changes its state"
    ),
    CheckKind(_MEMORY, "alias", "outputs share no memory that the baseline's do not, and survive later calls"),
    CheckKind(
        _CALLS,
        "determinism",
        "two calls on the same data and seed agree bit for bit; where they do not, how far apart they are is told",
        cost="the same call again, behind others on other data",
    ),
    CheckKind(
        _CALLS,
        "stream-order",
        "GPU: the call waits for earlier work on the current stream, later work there finds its result",
        cost="a call behind 10 ms of other work",
        missing="looked for on a GPU only, with inputs of one shape",
    ),
    CheckKind(
        _CALLS,
        "random-state",
        "generators are left as the baseline leaves them, behind a first call as behind its own first one",
        cost="where they are not, the same call again, and the baseline's in a fresh process",
    ),
    CheckKind(_PROCESS, "settings", _UNTOUCHED),
    CheckKind(_PROCESS, "clean-process", _UNTOUCHED),
    CheckKind(_PROCESS, "sandbox", "informs only: what the candidate's process was kept from, and what not"),
    CheckKind(
        _CLOCK,
        "recheck-after-timing",
        "timed calls, on data drawn anew, returned the right answer on rounds chosen at random",
        cost="the baseline's run for each of these rounds",
    ),
    CheckKind(_CLOCK, "timing-complete", "no GPU work went on after the timed region"),
    CheckKind(
        _CLOCK,
        "judge-clock",
        "the judge's time from request to reply fits the one that the candidate's process reported, and confirms the gain",
    ),
    CheckKind(
        _CLOCK,
        "impossible",
        "the time is not below the roofline's floor (where the memory bandwidth is known: not on a CPU)",
    ),
    CheckKind(
        _COVERED,
        "coverage",
        "kernels that were named or changed were launched, and every changed line ran in some case",
        cost="a few more calls where something is missing",
        missing="lines of a kernel on a GPU, or with torch.compile, are not seen; own rewrites have lines for other calls",
    ),
    CheckKind(
        _COVERED,
        "loop-turns",
        "every loop of a changed kernel, but for those of a fixed length, turned twice or more in some case",
        missing="seen without a GPU only, or no case was found in which a loop turns twice",
    ),
    CheckKind(
        "Attribution",
        "library-call",
        "a strategy that promises a kernel brings one that does the work, not a library or torch.compile",
        cost="one call under a profiler",
    ),
)


def unchecked(made: Collection[str]) -> tuple[Unchecked, ...]:
    """The kinds of CHECKS that a verdict of a passing candidate lacks, where `made` are the names of those that it has."""
    return tuple(Unchecked(kind.name, kind.missing) for kind in CHECKS if kind.missing and kind.name not in made)
