"""What of a candidate's text ran, and what should have: the kernel that was named, and what is not in the baseline. Pure."""

import ast
from collections.abc import Iterator, Sequence
from functools import cached_property

from kernelwright.proof.worker.languages.python.kernels import cute_kernels, triton_kernels
from kernelwright.proof.worker.languages.python.turning import Kernel
from kernelwright.proof.worker.ran import Loop, Ran, line_of, numbered
from kernelwright.proof.worker.reached import Missing
from kernelwright.proof.worker.texts import parsed
from kernelwright.values import Coverage

_DEVICE = frozenset(("is_cuda", "is_cpu", "is_available", "device", "device_count", "get_device_capability"))
_MADE_BY_CALLING = ("__init__", "forward", "__call__")
Function = ast.FunctionDef | ast.AsyncFunctionDef


class Text:
    """The functions and kernels that the entry of a text, or the kernel that was named, uses."""

    def __init__(self, text: str, entry: str, kernel: str) -> None:
        self.tree = parsed(text)
        self._kernels = {*triton_kernels(text), *cute_kernels(text)}
        self.numbers = {id(node): number for number, node in numbered(self.tree)}
        used = _used(self.tree, (entry, kernel))
        self.functions = [one for one in used if isinstance(one, Function)]
        self.kernels = [one for one in self.functions if one.name in self._kernels]
        called = {name for one in self.kernels for name in _names(one) if name != one.name}
        self.launched = [one for one in self.kernels if one.name not in called]

    @cached_property
    def blocks(self) -> frozenset[tuple[str, ...]]:
        """The ends of all blocks of the text, as far as they are statements."""
        blocks = (block for node in ast.walk(self.tree) for block in _inner_blocks(node))
        return frozenset(end for block in blocks for end in _ends([one for one in block if id(one) in self.numbers]))

    @cached_property
    def definitions(self) -> frozenset[str]:
        return frozenset(ast.dump(one) for one in ast.walk(self.tree) if isinstance(one, Function))

    def statements(self, function: Function) -> list[ast.stmt]:
        return [one for one in ast.walk(function) if isinstance(one, ast.stmt) and id(one) in self.numbers]


def coverage(text: Text, ran: Ran, *, inside: bool) -> Coverage:
    """What of the text ran. Without `inside`, only who was launched is known of kernels."""
    lines, turns = set(ran.lines), dict(ran.turns)
    looked_at = [one for one in text.functions if _counts(text, one, lines, inside=inside)]
    statements = {id(one): text.numbers[id(one)] for function in looked_at for one in text.statements(function)}
    loops = [one for kernel in text.kernels if inside for one in text.statements(kernel) if isinstance(one, Loop)]
    launched = {one.name for one in text.launched if _launched(text, one, ran)}
    return Coverage(
        launched=tuple(one.name for one in text.launched if one.name in launched),
        unlaunched=tuple(one.name for one in text.launched if one.name not in launched),
        lines=len(statements),
        missed=tuple(sorted(line_of(number) for number in statements.values() if number not in lines)),
        turns=tuple((one.lineno - 1, turns[n]) for one in loops if (n := text.numbers[id(one)]) in turns),
        inside=inside or not text.kernels,
    )


def missing(text: Text, baseline: Text, kernel: str, ran: Ran, *, inside: bool) -> Missing:
    """What should have run: the named kernel, and what of the text is not in the baseline."""
    lines, turns = set(ran.lines), dict(ran.turns)
    said, loops, unseen = list[str](), list[int](), False
    for one in text.functions:
        changed = ast.dump(one) not in baseline.definitions
        if one in text.launched and not _launched(text, one, ran):
            said += [f"kernel `{one.name}` was launched"] if changed or one.name == kernel else []
        elif changed and one in text.kernels and not inside:
            unseen = True
        elif changed and _counts(text, one, lines, inside=inside):
            said += [
                f"line {end[0].lineno} (`{_told(end[0])}`), which is not in the baseline, ran"
                for end in _unreached(text, one.body, lines)
                if not isinstance(end[-1], ast.Raise) and next(_ends(end)) not in baseline.blocks
            ]
            if one in text.kernels:
                varying = [node for node in text.statements(one) if isinstance(node, Loop) and _varies(node)]
                once = [node for node in varying if turns.get(text.numbers[id(node)], 0) < 2]
                loops += [node.lineno - 1 for node in once]
                can = Kernel(text.tree, one).can_turn_twice
                said += [f"the loop in line {node.lineno} (`{_told(node)}`) turned twice" for node in once if can(node)]
    return Missing(tuple(dict.fromkeys(said)), tuple(loops), unseen)


def _counts(text: Text, function: Function, lines: set[int], *, inside: bool) -> bool:
    """Whether lines of the function can be asked for: who calls one with a decorator, nobody knows before it was entered."""
    if function in text.kernels:
        return inside
    return not function.decorator_list or any(text.numbers[id(one)] in lines for one in text.statements(function))


def _launched(text: Text, kernel: Function, ran: Ran) -> bool:
    lines = set(ran.lines)
    return kernel.name in ran.launched or any(text.numbers[id(one)] in lines for one in text.statements(kernel))


def _unreached(text: Text, block: Sequence[ast.stmt], lines: set[int]) -> Iterator[list[ast.stmt]]:
    """The ends of blocks that never ran, the outermost of each."""
    known = [one for one in block if id(one) in text.numbers]
    first = next((i for i, one in enumerate(known) if text.numbers[id(one)] not in lines), len(known))
    if known[first:]:
        yield known[first:]
    for one in known[:first]:
        entered = not isinstance(one, Function | ast.ClassDef) or any(
            text.numbers.get(id(inner)) in lines for inner in ast.walk(one) if inner is not one
        )
        for inner in _inner_blocks(one) if entered else ():
            if not (_asks_for_device(one) and text.numbers.get(id(inner[0])) not in lines):
                yield from _unreached(text, inner, lines)


def _asks_for_device(node: ast.stmt) -> bool:
    """Whether it is an `if` about the device: its other branch is for a machine that is not here."""
    return isinstance(node, ast.If) and not _DEVICE.isdisjoint(_names(node.test))


def _varies(loop: ast.For | ast.AsyncFor | ast.While) -> bool:
    """Whether anything but numbers that are written there says how often it turns."""
    given = [loop.test] if isinstance(loop, ast.While) else getattr(loop.iter, "args", [loop.iter])
    return any(isinstance(node, ast.Name) for one in given for node in ast.walk(one))


def _used(tree: ast.Module, first: Sequence[str]) -> list[ast.AST]:
    """What the text defines of these names and of all that they name in turn, in its order."""
    defined: dict[str, list[ast.AST]] = {}
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                defined.setdefault(name, []).append(node)
    for node in tree.body:
        for target in node.targets if isinstance(node, ast.Assign) else ():
            for name in _names(target):
                defined.setdefault(name, []).append(node.value)  # type: ignore[attr-defined]
    found, waiting, known = list[ast.AST](), list(first), set[str]()
    while waiting:
        name = waiting.pop()
        for node in defined.get(name, ()) if name not in known else ():
            if isinstance(node, ast.ClassDef):
                methods = [one for one in node.body if isinstance(one, Function)]
                parts = [one for one in methods if one.name in _MADE_BY_CALLING]
                waiting += [name for part in (*parts, *node.bases) for name in _names(part)]
                found += [part for part in parts if part not in found]
            else:
                waiting += _names(node)
                found += [node] if node not in found else []
        known.add(name)
    return sorted(found, key=lambda node: getattr(node, "lineno", 0))


def _names(node: ast.AST) -> list[str]:
    names = (getattr(one, "id", None) or getattr(one, "attr", None) for one in ast.walk(node))
    return [name for name in names if isinstance(name, str)]


def _inner_blocks(node: ast.AST) -> Iterator[list[ast.stmt]]:
    """The blocks of a statement, those of its handlers and cases too."""
    for name in ("body", "orelse", "finalbody"):
        block = getattr(node, name, None)
        if isinstance(block, list) and block:
            yield block
    for part in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield part.body


def _ends(block: Sequence[ast.stmt]) -> Iterator[tuple[str, ...]]:
    dumps = [ast.dump(one) for one in block]
    yield from (tuple(dumps[i:]) for i in range(len(dumps)))


def _told(node: ast.stmt) -> str:
    first = ast.unparse(node).splitlines()[0]
    return first if len(first) <= 60 else f"{first[:57]}..."
