"""One scene of the language server's scenario: what a person does to a file, what is seen of it, and what must be."""

import difflib
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.lsp_client import Window
from lsprotocol import types as lsp

EXAMPLES = Path(__file__).parents[1] / "examples"


@dataclass(frozen=True)
class Scene:
    """A file, its kernel, and a mistake that is typed into it: `typed` in place of `old` has the finding."""

    file: str
    kernel: str
    old: str
    typed: str
    finding: str
    folder: Path = EXAMPLES


@dataclass(frozen=True)
class Stage:
    """What was done, what was seen, and how long it took."""

    name: str
    seen: tuple[str, ...]
    seconds: float


class Surprise(Exception):
    """A stage did not go as it must."""


class Play:
    """One scene in one window; every act tells a Stage as soon as it is over."""

    def __init__(self, window: Window, scene: Scene) -> None:
        self.window = window
        self.scene = scene
        self.baseline = (scene.folder / scene.file).read_text(encoding="utf-8")
        self.stages: list[Stage] = []
        self.step: dict = {}
        self.refused = 0  # actions that were shown disabled, with the reason
        self._since = window.elapsed()

    async def run(self) -> None:
        window, scene = self.window, self.scene
        (window.workspace / scene.file).write_text(self.baseline, encoding="utf-8")
        self.uri = window.open(scene.file, self.baseline)
        shown = await window.diagnostics(self.uri, lambda shown: True)
        self._tell(f"Open {scene.file}", *[_line(d) for d in shown] or ["nothing to find"])
        await self._mistake()
        await self._look()
        await self._optimize()
        await self._evidence()
        await self._revert()

    async def _mistake(self) -> None:
        window, scene = self.window, self.scene
        window.type(self.uri, scene.old, scene.typed)
        shown = await window.diagnostics(self.uri, lambda shown: _of(shown, scene.finding))
        found = _of(shown, scene.finding)[0]
        self._tell("Type a mistake", *(_line(d) for d in shown))
        fixes = [a for a in await window.actions(self.uri, found.range, "quickfix") if a.edit is not None]
        if fixes:
            must(await window.choose(fixes[0]), "The quick fix was not taken.")
        else:
            window.type(self.uri, scene.typed, scene.old)
        await window.diagnostics(self.uri, lambda shown: not _of(shown, scene.finding))
        done = f'quick fix "{fixes[0].title}"' if fixes else "typed back, there is no quick fix"
        self._tell("Out of it", f"{done}; the finding is gone")
        if window.texts[self.uri] != self.baseline:  # a fix may write the same thing in another way
            window.type(self.uri, window.texts[self.uri], self.baseline)

    async def _look(self) -> None:
        place = self._place()
        card = await self.window.hover(self.uri, place.start)
        must(self.scene.kernel in card and "Workload" in card, f"The card is {card!r}.")
        self._tell(f"Hover over {self.scene.kernel}", *card.split("\n"))
        lenses = await self.window.lenses(self.uri)
        must(lenses, "There is no lens.")
        self._tell("Code lens", *(f"line {lens.range.start.line + 1}: {lens.command.title}" for lens in lenses))
        self.menu = await self._offered("Code actions")

    async def _optimize(self) -> None:
        """The preferred action, or the first; one whose step is not kept leaves the file as it is: a person tries the next."""
        window = self.window
        offered = [action for action in self.menu if not action.disabled and "preview" not in action.title]
        unmeasured = any(
            "that can be measured here" in action.disabled.reason for action in self.menu if action.disabled
        )
        must(unmeasured or any(action.is_preferred for action in self.menu), "No action is preferred.")
        must(offered, "No action is offered.")
        for action in sorted(offered, key=lambda action: not action.is_preferred):
            said = len(window.progress)
            self.step = await window.choose(action)
            must(len(window.progress) > said + 1, f"No progress was shown: {self.step}")
            stages = [(at - self._since, words) for at, words in window.progress[said:]]
            self._tell(f'Choose "{action.title}"', *_folded(stages))
            if self.step.get("outcome") == "kept":
                break
            must(window.texts[self.uri] == self.baseline, "The step was not kept, and the text is another.")
        must(self.step.get("outcome") == "kept", "No step was kept.")
        text = window.texts[self.uri]
        must(text != self.baseline, "The step was kept, and the text is as it was.")
        self._tell(f'Edit applied: "{window.applied[-1].label}"', *_diff(self.baseline, text))

    async def _evidence(self) -> None:
        strategy = self.step["action"]["strategy"]
        shown = await self.window.diagnostics(self.uri, lambda shown: _of(shown, strategy))
        message = _of(shown, strategy)[0].message
        must("checks" in message, f"The diagnostic names no checks: {message}")
        must(("faster than baseline" in message) == bool(self.step["measurement"]), f"Number and words: {message}")
        self._tell("Diagnostics", *(_line(d) for d in shown))
        checks = self.step["verdict"]["checks"]
        names = sorted({check["name"] for check in checks})
        self._tell("The checks behind it", f"{len(checks)} checks: {', '.join(names)}")
        card = await self.window.hover(self.uri, self._place().start)
        must("Last result: Verified" in card, f"The card has no result: {card!r}")
        lens = (await self.window.lenses(self.uri))[0].command.title
        self._tell("Card and lens after it", card.split("\n")[-1], lens)
        await self._offered("Code actions after it")

    async def _revert(self) -> None:
        about = {"uri": self.uri, "kernel": self.scene.kernel}
        await self.window.command("kernelwright.revert", about)
        must(self.window.texts[self.uri] == self.baseline, "The text is not the baseline.")
        strategy = self.step["action"]["strategy"]
        await self.window.diagnostics(self.uri, lambda shown: not _of(shown, strategy))
        (*_, entry) = await self.window.command("kernelwright.history", {**about, "quiet": True})
        must(entry["outcome"] == "reverted", f"The history says {entry['outcome']}.")
        self._tell("Revert", "the text is the baseline again, to the letter; the diagnostic is gone", entry["sentence"])

    async def _offered(self, name: str) -> list[lsp.CodeAction]:
        actions = await self.window.actions(self.uri, self._place(), "refactor.rewrite")
        must(actions, "There is no code action.")
        self.refused += sum(action.disabled is not None for action in actions)
        self._tell(name, *(_item(action) for action in actions))
        return actions

    def _place(self) -> lsp.Range:
        text = self.window.texts[self.uri]
        keyword = "class" if f"class {self.scene.kernel}" in text else "def"
        line = text[: text.index(f"{keyword} {self.scene.kernel}")].count("\n")
        place = lsp.Position(line, len(keyword) + 1)
        return lsp.Range(place, place)

    def _tell(self, name: str, *seen: str) -> None:
        now = self.window.elapsed()
        self.stages.append(Stage(name, seen, round(now - self._since, 3)))
        self._since = now
        print(f"\n[{self.stages[-1].seconds:.2f} s] {name}", *(f"    {line}" for line in seen), sep="\n", flush=True)


def _of(shown: Sequence[lsp.Diagnostic], code: str) -> list[lsp.Diagnostic]:
    return [d for d in shown if str(d.code).replace("/", ".") == code]


def _line(d: lsp.Diagnostic) -> str:
    return f"line {d.range.start.line + 1}, {d.severity.name.lower()}, {d.code}: {d.message}"


def _item(action: lsp.CodeAction) -> str:
    mark = "*" if action.is_preferred else "-" if action.disabled else " "
    return f"{mark} {action.title}{f': {action.disabled.reason}' if action.disabled else ''}"


def _folded(stages: Sequence[tuple[float, str]]) -> list[str]:
    """When each stage began, in one line for all messages that begin with the same words."""
    groups = [list(group) for _, group in itertools.groupby(stages, lambda stage: stage[1].split(",")[0])]
    counts = (f"  (and {len(group) - 1} more like it)" if len(group) > 1 else "" for group in groups)
    return [f"{group[0][0]:6.1f} s  {group[0][1]}{more}" for group, more in zip(groups, counts, strict=True)]


def _diff(before: str, after: str) -> list[str]:
    return list(difflib.unified_diff(before.split("\n"), after.split("\n"), "before", "after", lineterm="", n=1))


def must(condition: object, otherwise: str) -> None:
    if not condition:
        raise Surprise(otherwise)
