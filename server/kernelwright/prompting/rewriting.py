"""The prompt that asks for a whole kernel anew, which steps of one strategy are compared with, and the answer to it."""

import re

from kernelwright.languages import LanguageSupport
from kernelwright.languages.support import Piece
from kernelwright.macro.strategy import Observation
from kernelwright.prompting.action import LANGUAGES, calls_of, device_words, rest_of, roofline_words
from kernelwright.prompting.evidence import Evidence
from kernelwright.prompting.reply import MOST_CHARACTERS
from kernelwright.prompting.templates import fenced, render
from kernelwright.values import Conversation, Message, Refusal, Role

_CODE = re.compile(r"^(`{3,})[^\n`]*\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)


def rewrite_prompt(observation: Observation) -> Conversation:
    """What a model is asked first."""
    kernel, text, support = observation.kernel, observation.text, observation.support
    pieces = support.pieces(text, kernel)
    editable = [piece for piece in pieces if piece.editable]
    system = render(
        "rewriter",
        language=LANGUAGES[kernel.language],
        modules=", ".join(support.allowed_modules),
        names=" and ".join(f"`{piece.name}`" for piece in editable),
    )
    user = render(
        "rewrite",
        kernel=kernel,
        device=device_words(observation.device),
        roofline=roofline_words(observation),
        workload=calls_of(observation.workload),
        reduced=observation.reduced,
        editable=[fenced(piece.code, support.id) for piece in editable],
        rest=fenced(rest_of(pieces), support.id),
    )
    return Message(Role.SYSTEM, system), Message(Role.USER, user)


def asked_again(answer: str, evidence: Evidence) -> Conversation:
    """What is added to a conversation for a better answer."""
    said = render("rewrite_again", evidence=fenced(evidence.told), advice=evidence.advice)
    return Message(Role.ASSISTANT, answer), Message(Role.USER, said)


def rewritten_by(answer: str, observation: Observation) -> str | Refusal:
    """The text with the definitions of an answer in the place of its own, and what is new above the first of them.

    What the answer repeats of the rest of the file is left out.
    """
    text, support = observation.text, observation.support
    code = _code_in(answer, support)
    if isinstance(code, Refusal):
        return code
    own, new = support.pieces(text, observation.kernel), support.pieces(code, observation.kernel)
    editable = [piece for piece in own if piece.editable]
    written = {piece.name: piece.code for piece in new if not piece.is_comment}
    if not any(piece.name in written for piece in editable):
        names = " or ".join(f"`{piece.name}`" for piece in editable)
        return Refusal(f"The answer's block of code has no definition of {names} at its top level.")
    known = {piece.name for piece in own}
    added = [piece.code for piece in new if not piece.is_comment and piece.name not in known]
    return _put_together(text, editable, written, added)


def _code_in(answer: str, support: LanguageSupport) -> str | Refusal:
    if len(answer) > MOST_CHARACTERS:
        return Refusal(f"The answer is longer than {MOST_CHARACTERS:,} characters.")
    found = _CODE.findall(answer)
    if len(found) != 1:
        return Refusal(f"The answer has {len(found)} blocks of code between ``` and ```; it must have one.")
    code = str(found[0][1])
    if (broken := support.syntax_problem(code)) is not None:
        line = "".join(code.splitlines()[broken.line : broken.line + 1]).strip()
        return Refusal(f"The answer's block of code does not parse: {broken.message} at `{line}`.")
    return code


def _put_together(text: str, editable: list[Piece], written: dict[str, str], added: list[str]) -> str:
    lines = text.splitlines(keepends=True)
    for piece in reversed(editable):
        head = "\n\n".join([*map(str.rstrip, added), ""]) if piece is editable[0] else ""
        lines[piece.start_line : piece.end_line] = [head, written.get(piece.name, piece.code)]
    return "".join(lines)
