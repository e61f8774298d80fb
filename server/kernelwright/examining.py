"""The indices of the CUDA kernels of a document, and of an edit, examined in a process of its own by z3."""

import importlib.util
import json
from collections.abc import Sequence

from kernelwright import wire
from kernelwright.indices.results import Checked, Indices
from kernelwright.languages import LanguageSupport
from kernelwright.languages.kept import written
from kernelwright.proof.programs import answer
from kernelwright.values import Kernel, Refusal

_LANGUAGE = "cuda-cpp"
_PROGRAM = "kernelwright.indices.program"
_PATIENCE = 15.0  # seconds


async def examined(support: LanguageSupport, text: str, kernels: Sequence[Kernel]) -> Indices:
    """What z3 finds out about the indices of kernels that have workload lines; nothing of those that it was not asked about.

    Cancelling ends the process.
    """
    text = written(support, text)
    if importlib.util.find_spec("z3") is None or not support.workload_lines(text):
        return Indices()
    if support.id == _LANGUAGE:
        texts = [text]
    else:
        units = (support.unit(text, kernel) for kernel in kernels)
        texts = list(dict.fromkeys(unit.text for unit in units if unit.language == _LANGUAGE))
    found = [await _asked(one) for one in texts]
    return Indices(
        tuple(remark for one in found for remark in one.remarks),
        tuple(kernel for one in found for kernel in one.kernels),
    )


async def _asked(text: str) -> Indices:
    printed = await answer(_PROGRAM, (), text, _PATIENCE)
    found: Indices | None = wire.decode(Indices | None, json.loads(printed)) if printed is not None else None
    return found if found is not None else Indices()


async def counterexample(before: str, after: str, lines: Sequence[str]) -> Refusal | None:
    """Why an edit of CUDA C++ that a rule has written is wrong for the sizes of workload lines, with a witness.

    None where none is found, which proves nothing, and where z3 is not installed. Cancelling ends the process.
    """
    if importlib.util.find_spec("z3") is None:
        return None
    printed = await answer(_PROGRAM, ("compare",), json.dumps((before, after, list(lines))), _PATIENCE)
    found = json.loads(printed) if printed is not None else None
    return Refusal(found) if isinstance(found, str) else None


def told_of(checked: Checked | None) -> str:
    """How far the indices of a kernel were checked, for a person: what is open is never told as safe."""
    if importlib.util.find_spec("z3") is None:
        return "Indices: not checked, since z3 is not installed (pip install 'kernelwright[z3]')"
    if checked is None:
        return "Indices: not checked yet"
    if checked.reason:
        return f"Indices: not checked, since {checked.reason}"
    parts = [
        f"{count} {'access' if count == 1 else 'accesses'} {what}"
        for count, what in (
            (checked.inside, "within bounds"),
            (checked.outside, "out of bounds"),
            (checked.open, "not checked"),
        )
        if count
    ]
    apart = "no two threads write different values to one element"
    races = {True: apart, False: "threads race", None: "write races not checked"}
    return f"Indices with the sizes of the workload: {', '.join([*parts, races[checked.apart]])}"
