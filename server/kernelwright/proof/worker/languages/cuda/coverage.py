"""Which statements of a CUDA text have numbers, what of them ran, and what should have. Pure."""

from collections import Counter
from collections.abc import Iterator, Sequence

from kernelwright.proof.worker.ran import Ran, line_of, number_of
from kernelwright.proof.worker.reached import Missing
from kernelwright.proof.worker.toolchain.translation import numbered, probed
from kernelwright.source.cpp.statements import Statement
from kernelwright.source.cpp.tokens import Kind, tokens_of
from kernelwright.values import Coverage

_ENDS = frozenset(("throw", "exit", "abort", "__trap"))
_FOR_ERRORS = frozenset(("cudaSuccess", "cudaGetErrorString", "stderr", "assert"))


def numbers_of(statements: Sequence[Statement]) -> list[int]:
    """The number of each statement: its line, and how many are before it there."""
    before, found = Counter[int](), []
    for one in statements:
        found.append(number_of(one.line, before[one.line]))
        before[one.line] += 1
    return found


class Text:
    """The functions that the entry of a text, or the kernel that was named, uses."""

    def __init__(self, text: str, entry: str, kernel: str) -> None:
        self.text = text
        self.numbers = {
            (one.start, one.end): number for one, number in zip(numbered(text), numbers_of(numbered(text)), strict=True)
        }
        tokens = tokens_of(text)
        every = probed(text)
        names = {
            one.name: {t.text for t in tokens[one.tokens[0] : one.tokens[1]] if t.kind is Kind.WORD} for one, _ in every
        }
        used, waiting = set[str](), [entry, kernel]
        while waiting:
            name = waiting.pop()
            if name in names and name not in used:
                used.add(name)
                waiting += names[name] & names.keys()
        self.functions = [(one, body) for one, body in every if one.name in used]
        self.kernels = [one for one, _ in self.functions if one.is_kernel]
        self.bodies = {one.name: _words(body) for one, body in every}
        self.statements = {_key(inner) for _, body in every for one in body for inner in one.walk()}

    def number(self, one: Statement) -> int:
        return self.numbers[one.start, one.end]


def reached(text: Text, baseline: Text, kernel: str, ran: Ran, *, inside: bool) -> tuple[Coverage, Missing]:
    """What ran; and what did not, of what is not in the baseline."""
    lines, turns = set(ran.lines), dict(ran.turns)
    looked_at = [(one, body) for one, body in text.functions if inside]
    every = [inner for _, body in looked_at for one in body for inner in one.walk()]
    loops = [inner for f, body in looked_at if f.on_device for one in body for inner in one.walk() if inner.is_loop]
    launched = {one.name for one in text.kernels if one.name in ran.launched}
    coverage = Coverage(
        launched=tuple(one.name for one in text.kernels if one.name in launched),
        unlaunched=tuple(one.name for one in text.kernels if one.name not in launched),
        lines=len(every),
        missed=tuple(sorted({line_of(text.number(one)) for one in every if text.number(one) not in lines})),
        turns=tuple((one.line, turns[text.number(one)]) for one in loops if text.number(one) in turns),
        inside=inside,
    )
    said, varying, unseen = list[str](), list[int](), False
    for one, body in text.functions:
        changed = baseline.bodies.get(one.name) != _words(body)
        if one.is_kernel and one.name not in launched:
            said += [f"kernel `{one.name}` was launched"] if changed or one.name == kernel else []
        elif changed and not inside:
            unseen |= one.on_device
        elif changed:
            said += [
                f"line {statement.line + 1} (`{_told(text, statement)}`), which is not in the baseline, ran"
                for statement in _unreached(text, body, lines)
                if _key(statement) not in baseline.statements and not _ends(statement)
            ]
            if one.on_device:
                inner = [each for first in body for each in first.walk() if each.is_loop and each.varies]
                varying += [each.line for each in inner if turns.get(text.number(each), 0) < 2]
    return coverage, Missing(tuple(dict.fromkeys(said)), tuple(varying), unseen)


def _unreached(text: Text, block: Sequence[Statement], lines: set[int]) -> Iterator[Statement]:
    """The first statement of each block that was not reached to its end, the outermost of each."""
    for one in block:
        if text.number(one) not in lines:
            yield one
            return
        for inner in one.blocks:
            if not _FOR_ERRORS.intersection(one.words):
                yield from _unreached(text, inner, lines)


def _ends(one: Statement) -> bool:
    """Whether it is there for what must not happen."""
    return bool(_ENDS.intersection(one.words))


def _words(body: Sequence[Statement]) -> tuple[object, ...]:
    return tuple((one.words, *(_words(block) for block in one.blocks)) for one in body)


def _key(one: Statement) -> tuple[object, ...]:
    return _words((one,))


def _told(text: Text, one: Statement) -> str:
    said = text.text[one.start : one.end].splitlines()[0].rstrip()
    return said if len(said) <= 60 else f"{said[:57]}..."
