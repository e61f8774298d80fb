"""The arguments of one variation, made small enough for where they run."""

from kernelwright.proof.worker.bench import Bench
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.gate.cases import INTERPRETER_ELEMENTS
from kernelwright.proof.worker.gate.properties import with_property
from kernelwright.proof.worker.inputs import Inputs, from_call, from_functions
from kernelwright.proof.worker.rejected import NotAccepted, Undecidable
from kernelwright.proof.worker.variation import Variation

INTERPRETER_MOST = 1 << 22  # elements beyond which one call takes minutes in Triton's interpreter


def make_inputs(bench: Bench, variation: Variation) -> Inputs:
    """The variation's arguments; get_inputs() is the baseline's, never the candidate's. Raises JobFailed, NotAccepted."""
    made = _random_inputs(bench, variation)
    if not variation.data:
        return made
    special = with_property(made, variation.data)
    if special is None:
        raise NotAccepted  # no tensor that the property would change
    return special


def _random_inputs(bench: Bench, variation: Variation) -> Inputs:
    try:
        if variation.call is not None:
            how = {"seed": variation.seed, "scale": variation.scale, "ends": variation.ends}
            return from_call(variation.call, device=bench.device, **how)
        made = from_functions(bench.baseline, device=bench.device, seed=variation.seed, scale=variation.scale)
    except JobFailed as failed:
        raise (NotAccepted() if variation.derived else failed) from failed
    if variation.rows is None and not bench.interpreted:
        return made
    leading = next((t.shape[0] for t in made.tensors() if t.dim() >= 2), 0)
    rows = _rows_for_interpreter(bench, made, leading) if variation.rows is None else variation.rows
    if rows >= leading:
        plain = not (variation.data or variation.whole or variation.numbers) and variation.scale == 1.0
        if variation.rows is not None and plain:
            raise NotAccepted
        return made
    return made.changed(lambda tensor: tensor[:rows].clone() if tensor.shape[:1] == (leading,) else tensor)


def _rows_for_interpreter(bench: Bench, made: Inputs, leading: int) -> int:
    total = sum(t.numel() for t in made.tensors())
    if total <= INTERPRETER_ELEMENTS or not leading:
        return leading
    rows = max(1, leading * INTERPRETER_ELEMENTS // total)
    if total // leading * rows > INTERPRETER_MOST:
        raise Undecidable(
            f"The inputs have {total:,} elements, too many for Triton's interpreter on the CPU even with a batch of 1: "
            "verify on a GPU, or add a '# workload:' line with smaller sizes."
        )
    bench.evidence.notes.append(f"batch reduced from {leading} to {rows}")
    return rows
