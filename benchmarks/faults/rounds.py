"""One round: a fault, the next requests with their times, and whether anything was lost or left behind."""

import asyncio
import os
import time
from collections.abc import Awaitable
from dataclasses import dataclass
from random import Random

from benchmarks.faults.house import House
from benchmarks.faults.inside import Role
from benchmarks.faults.kinds import Kind
from benchmarks.faults.texts import WRONG

from kernelwright.values import digest

SLOW = "answered only after"
LIMIT = 5.0  # seconds: of the next answer, and until nothing is left
_MOST = 5  # of what is left, in words
_PATIENCE = 90.0  # seconds after which a request counts as never answered
_CAPTURE = {"strategy": "torch.reassociate"}  # does not apply to the good kernel, which only its graph tells


@dataclass(frozen=True)
class Outcome:
    """`answer` is what the request got that the fault hit, "" where it hit none; times in seconds.

    `next_s`: the next job of the kind that the fault hit. `hover_s`: the next hover, asked at the same moment.
    `settled_s`: from that answer until nothing was left. `problems`: in words, whatever went wrong.
    """

    group: str
    kind: str
    answer: str
    fault_s: float
    next_s: float
    hover_s: float
    settled_s: float
    load: float  # of the machine, the average of a minute
    problems: tuple[str, ...] = ()


async def play(house: House, kind: Kind, random: Random, refusal: str) -> Outcome:
    """`refusal`: what the server says of the good kernel when its graph is asked for."""
    house.round += 1
    problems: list[str] = []
    began = time.monotonic()
    answer, answered = None, ""
    try:
        answer = await asyncio.wait_for(kind.inject(house, random), _PATIENCE)
        answered = _said(answer)
    except Exception as error:  # noqa: BLE001  (an error of the protocol is what is looked for)
        problems.append(f"the fault's own request: {type(error).__name__}: {error}"[:300])
        if not house.server.is_running() or house.editor.client.stopped:  # nothing more can be asked
            return Outcome(kind.group, kind.name, answered, 0.0, 0.0, 0.0, 0.0, os.getloadavg()[0], tuple(problems))
    fault_s = time.monotonic() - began
    _type_on(house)
    wrong = house.round % 2 == 0
    first, second = (_capture, _trial) if Role.RUN.value in kind.name or "run" in kind.name else (_trial, _capture)
    (said, next_s), (_, hover_s) = await asyncio.gather(
        _timed(first(house, wrong, refusal)), _timed(house.editor.hover(house.good, "scaled("))
    )
    problems += said
    problems += [f"{what} {SLOW} {took:.1f} s" for what, took in (("job", next_s), ("hover", hover_s)) if took > LIMIT]
    house.heal()
    if kind.weight == 1 or random.random() < 0.25:
        problems += (await _timed(second(house, wrong, refusal)))[0]
    kept = await house.keep(f"kept_{random.randrange(50)}.py")
    problems += [] if kept is True else [f"a baseline was not kept: {kept}"]
    problems += [f"lost: {what}" for what in house.lost()]
    left, settled_s = await _settled(house)
    problems += [f"left: {what}" for what in left[:_MOST]] + [f"left: {len(left)} in all"] * (len(left) > _MOST)
    return Outcome(
        kind.group, kind.name, answered, fault_s, next_s, hover_s, settled_s, os.getloadavg()[0], tuple(problems)
    )


async def refusal_of(house: House) -> str:
    """What is said of the good kernel before any fault."""
    house.captured = True
    answer = await house.editor.command("kernelwright.optimize", {"uri": house.good, **_CAPTURE})
    return str(answer.get("reason"))


async def _trial(house: House, wrong: bool, refusal: str) -> list[str]:
    """The good kernel passes, or a wrong one in its place is refused."""
    if wrong:
        house.editor.type(house.good, *WRONG)
    text, expected = house.editor.texts[house.good], "failed" if wrong else "passed"
    answer = await asyncio.wait_for(house.editor.command("kernelwright.verify", {"uri": house.good}), _PATIENCE)
    if wrong:
        house.editor.type(house.good, *WRONG[::-1])
    verdict = answer.get("verdict", {})
    if verdict.get("status") != expected:
        return [f"next verification: {_said(answer)} instead of {expected}"]
    return [] if verdict["text_hash"] == digest(text) else ["the server has another text than the editor"]


async def _capture(house: House, wrong: bool, refusal: str) -> list[str]:
    """The graph of a text that was not seen before."""
    house.captured = True
    answer = await asyncio.wait_for(
        house.editor.command("kernelwright.optimize", {"uri": house.good, **_CAPTURE}), _PATIENCE
    )
    return [] if answer.get("reason") == refusal else [f"next capture: {_said(answer)} instead of {refusal}"]


async def _timed(asking: Awaitable[object]) -> tuple[list[str], float]:
    began = time.monotonic()
    try:
        said = await asyncio.wait_for(asking, _PATIENCE)
    except Exception as error:  # noqa: BLE001  (whatever a client raises for a request that has no answer)
        said = [f"next request: {type(error).__name__}: {error}"[:300]]
    return said if isinstance(said, list) else [], time.monotonic() - began


async def _settled(house: House) -> tuple[list[str], float]:
    """What is left once it does not change for the better any more, and the seconds that it took."""
    began = time.monotonic()
    while (left := house.census.left()) and time.monotonic() - began < LIMIT:
        await asyncio.sleep(0.05)
    return left, time.monotonic() - began


def _type_on(house: House) -> None:
    """A person goes on typing: the text that the next answers are about is a new one."""
    text = house.editor.texts[house.good]
    old = text[text.index("# round") :]
    house.editor.type(house.good, old, f"# round {house.round}\n")


def _said(answer: object) -> str:
    """An answer in a few words."""
    if not isinstance(answer, dict):
        return "" if answer is None else str(answer)
    if "verdict" in answer:
        verdict = answer["verdict"]
        return f"{verdict['status']}: {verdict.get('reason', '')}"[:200].rstrip(": ")
    return f"{answer.get('kind', answer.get('$'))}: {answer.get('message', answer.get('reason', ''))}"[:300]
