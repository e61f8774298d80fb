"""The prompt by which a model proposes workload lines, and its answer. The lines are tried before anybody is offered one."""

from kernelwright.languages import LanguageSupport
from kernelwright.prompting.templates import fenced, render
from kernelwright.source.workload.words import page
from kernelwright.values import Conversation, Kernel, Message, Refusal, Role

MOST_LINES = 6


def workload_prompt(text: str, kernel: Kernel, support: LanguageSupport, refused: tuple[str, ...]) -> Conversation:
    """What a model is asked. `refused`: what came of lines that were tried before."""
    user = render(
        "workload",
        kernel=kernel,
        entry=kernel.entry or kernel.name,
        grammar=page(),
        refused=fenced("\n".join(refused)) if refused else "",
        code=fenced(text, support.id),
        sign=support.workload_sign.strip(),
        most=MOST_LINES,
    )
    return Message(Role.SYSTEM, render("policy")), Message(Role.USER, user)


def calls_in(answer: str, sign: str) -> tuple[str, ...] | Refusal:
    """The calls of the answer's lines, without their comment signs."""
    begin = sign.strip()
    lines = [line.strip() for line in answer.splitlines()]
    calls = tuple(dict.fromkeys(line.removeprefix(begin).strip() for line in lines if line.startswith(begin)))
    if not calls:
        return Refusal(f"The model's answer has no line that begins with `{begin}`.")
    return calls[:MOST_LINES]
