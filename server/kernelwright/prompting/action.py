"""The prompt of an Action: the kernel as it stands, what is known of it, and the one change that is wanted.

After macro thinking and micro coding (QiMeng-Kernel, 2025): the strategy is chosen before, the model writes the small edit.
"""

from kernelwright import words
from kernelwright.languages.support import Piece
from kernelwright.macro.strategies import title_of
from kernelwright.macro.strategy import Example, Observation, Strategy
from kernelwright.micro.edits import difference
from kernelwright.prompting.evidence import Evidence
from kernelwright.prompting.operations import operations
from kernelwright.prompting.reply import DIVIDER, REPLACE, SEARCH
from kernelwright.prompting.templates import fenced, numbered, render
from kernelwright.source.roofline import bound, known_work
from kernelwright.values import Action, Conversation, Device, Language, Message, Refusal, Role, Workload, line_starts

_MOST_STEPS = 6
_MOST_REST = 12_000  # characters of what may not be changed
LANGUAGES = {Language.TRITON: "Triton", Language.TORCH: "PyTorch", Language.CUDA: "CUDA C++"}


def action_prompt(
    observation: Observation, action: Action, strategy: Strategy, mechanical: Refusal | None = None
) -> Conversation:
    """What a model is asked first. `mechanical`: why the deterministic coder cannot carry the Action out."""
    kernel, text, support = observation.kernel, observation.text, observation.support
    pieces = support.pieces(text, kernel)
    allowed = ", ".join(support.allowed_modules)
    system = render(
        "system",
        language=LANGUAGES[kernel.language],
        modules=allowed,
        search=SEARCH,
        divider=DIVIDER,
        replace=REPLACE,
    )
    region = action.region
    user = render(
        "action",
        strategy=strategy,
        kernel=kernel,
        region=region,
        example_before=fenced(strategy.example.before, support.id),
        example_answer=fenced(answer_of(strategy.example)),
        device=device_words(observation.device),
        roofline=roofline_words(observation),
        workload=calls_of(observation.workload),
        reduced=observation.reduced,
        region_code=fenced(numbered(text, region.start_line, region.end_line)),
        operations=_operations(observation, action),
        mechanical=fenced(mechanical.reason) if mechanical is not None else "",
        findings=_findings(observation),
        steps=steps_before(observation),
        editable=[fenced(piece.code, support.id) for piece in pieces if piece.editable],
        rest=fenced(rest_of(pieces), support.id),
    )
    return Message(Role.SYSTEM, system), Message(Role.USER, user)


def repaired(answer: str, evidence: Evidence) -> Conversation:
    """What is added to a conversation after an answer that was not the last word."""
    said = render("repair", evidence=fenced(evidence.told), advice=evidence.advice)
    return Message(Role.ASSISTANT, answer), Message(Role.USER, said)


def answer_of(example: Example) -> str:
    """The example's change in the form in which answers are read: one block for each run of changed lines."""
    before = example.before.splitlines()
    starts = line_starts(example.before)
    line_of = {offset: line for line, offset in enumerate(starts)}
    blocks: list[tuple[int, int, list[str]]] = []  # what is searched for, as lines of `before`, and what replaces it
    for edit in difference(example.before, example.after).edits:
        start, end = line_of[edit.start], line_of.get(edit.end, len(before))
        first, last = _unique(before, start, end)
        new = [*before[first:start], *edit.new_text.splitlines(), *before[end:last]]
        if blocks and first < blocks[-1][1]:
            begin, until, so_far = blocks.pop()
            kept = so_far[: len(so_far) - (until - first)]  # without its last lines, which are as they were
            first, new = begin, [*kept, *new]
        blocks.append((first, last, new))
    told = ("\n".join((SEARCH, *before[first:last], DIVIDER, *new, REPLACE)) for first, last, new in blocks)
    return "\n\n".join(told)


def _unique(lines: list[str], start: int, end: int) -> tuple[int, int]:
    """The lines `start:end` with as many before them, and then behind them, as make them occur once."""
    first, last = start, end
    while first > 0 and (last == first or _count(lines, lines[first:last]) > 1):
        first -= 1
    while last < len(lines) and (last == first or _count(lines, lines[first:last]) > 1):
        last += 1
    return first, last


def _count(lines: list[str], wanted: list[str]) -> int:
    return sum(lines[i : i + len(wanted)] == wanted for i in range(len(lines) - len(wanted) + 1))


def device_words(device: Device) -> str:
    """The device with what bounds a kernel on it."""
    if not device.is_gpu:
        return "no GPU here: correctness is checked on the CPU, and nothing is timed"
    gb, sm = device.bandwidth / 1e9, device.compute_capability
    facts = [f"sm_{sm}" if sm else "", f"{device.multiprocessors} multiprocessors" if device.multiprocessors else ""]
    facts += [f"{gb:.0f} GB/s" if gb else "", f"{device.l2_bytes >> 20} MiB of L2 cache" if device.l2_bytes else ""]
    facts += [f"{dtype} {flops / 1e12:.0f} TFLOP/s" for dtype, flops in sorted(device.peak_flops.items())]
    facts += [f"Triton {device.triton}" if device.triton else "", f"torch {device.torch}" if device.torch else ""]
    facts += [f"CuTe DSL {device.cute}" if device.cute else ""]
    return f"{device.name} ({', '.join(fact for fact in facts if fact)})"


def roofline_words(observation: Observation) -> str:
    """Which side of the roofline the kernel is on; "" where its work is not known."""
    work = known_work(observation.kernel, observation.workload, observation.graph)
    if work is None:
        return ""
    moved = f"at least {work.bytes / 1e6:.4g} MB must move and {work.flops / 1e9:.4g} GFLOP be done"
    if not observation.device.bandwidth:
        return moved
    side = bound(work, observation.device)
    return f"bound by {side.kind}, {moved}, which takes at least {words.milliseconds(side.floor_ms)} ms"


def calls_of(workload: Workload | None) -> str:
    """The calls that the kernel is judged on, the timed one first, between fences."""
    calls = [case.text for case in workload.cases] or [workload.described] if workload is not None else []
    return fenced("\n".join(calls))


def steps_before(observation: Observation) -> str:
    """The last steps with their results, a line each between fences; "" where there were none."""
    told = [words.of_step(step, title_of(step.action.strategy)) for step in observation.history[-_MOST_STEPS:]]
    return fenced("\n".join(told)) if told else ""


def _operations(observation: Observation, action: Action) -> str:
    if observation.graph is None:
        return ""
    told = operations(observation.graph, action.region)
    return fenced(told) if told else ""


def _findings(observation: Observation) -> str:
    kernel, support = observation.kernel, observation.support
    found = support.findings(observation.text, support.kernels(observation.text))
    lines = range(kernel.start_line, kernel.end_line)
    inside = (one for one in found if one.start_line in lines or one.kernel == kernel.name)
    told = [f"line {one.start_line + 1}: {one.message}" for one in inside]
    return fenced("\n".join(told)) if told else ""


def rest_of(pieces: tuple[Piece, ...]) -> str:
    """What may not be changed, in order; of what is too much, the first line of each definition."""
    fixed = [piece for piece in pieces if not piece.editable]
    whole = "".join(piece.code if piece.code.endswith("\n") else f"{piece.code}\n" for piece in fixed)
    if len(whole) <= _MOST_REST:
        return whole
    return "\n".join(piece.first_line for piece in fixed)[:_MOST_REST]
