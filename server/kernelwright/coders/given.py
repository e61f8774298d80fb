"""The coder that carries out what an agent has written: one text, tried once."""

import asyncio

from kernelwright.coders import Attempt, Report, Variant
from kernelwright.coders.model import edited_by
from kernelwright.languages import absence
from kernelwright.macro.strategy import Observation, Strategy
from kernelwright.micro.edits import difference
from kernelwright.prompting.reply import MOST_CHARACTERS
from kernelwright.values import Action, Edits, Refusal, digest, not_utf8


class Given:
    """Answers with one text, whatever the Action. `why`: what a person is told of the edit."""

    does = "checking the edit"
    races = False

    def __init__(self, text: str, author: str, why: str = "") -> None:
        self.name = author
        self._text = text
        self._why = why

    def refuses(self, strategy: Strategy) -> Refusal | None:
        return None

    def goes_on(self, attempts: tuple[Attempt, ...]) -> bool:
        return not attempts

    async def code(
        self,
        observation: Observation,
        action: Action,
        attempts: tuple[Attempt, ...],
        report: Report,
        cancel: asyncio.Event | None,
    ) -> tuple[Variant, ...]:
        before = observation.text
        if (problem := problem_of(self._text, observation)) is not None:
            return (Variant(action, Edits(digest(before), (), self._why), before, self.name, refusal=problem),)
        return (Variant(action, difference(before, self._text, self._why), self._text, self.name),)


def given(observation: Observation, text: str | None, blocks: str | None) -> str | Refusal:
    """The text that an agent means by a whole `text`, or by search/replace `blocks`; why it is no edit that may be tried."""
    if (text is None) == (blocks is None):
        return Refusal("Give either `text`, the whole file, or `blocks`, search/replace blocks against it.")
    if (broken := observation.support.syntax_problem(observation.text)) is not None:
        return Refusal(f"The file does not parse at line {broken.line + 1} ({broken.message}); mend that first.")
    if blocks is not None:
        return edited_by(blocks, observation)
    assert text is not None
    if "\r\n" in observation.text and "\r\n" not in text:
        text = text.replace("\n", "\r\n")
    return problem_of(text, observation) or text


def problem_of(text: str, observation: Observation) -> Refusal | None:
    """Why `text` is no edit of the observed kernel that may be tried, before anything of it runs."""
    support, kernel = observation.support, observation.kernel
    if text == observation.text:
        return Refusal("The text is the file as it stands, so there is nothing to try.")
    if len(text) > max(MOST_CHARACTERS, 2 * len(observation.text)):
        return Refusal(f"The text is longer than {MOST_CHARACTERS:,} characters.")
    if (line := not_utf8(text)) is not None:
        return Refusal(f"Line {line + 1} of the text is not valid UTF-8.")
    if support.syntax_problem(text) is not None:
        return Refusal(f"The text {absence(support, text, ())}")
    return support.edit_problem(observation.text, text, kernel)
