"""Which Python files of a workspace come to which, by their import statements; nothing is run.

Modules are told by the end of their path, so that it does not matter from which folder a project is imported. Where several
files fit, those count that are nearest to who imports.
"""

import itertools
import re
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

_FROM = re.compile(r"^[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]*)", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]*import[ \t]+([^\n#;]+)", re.MULTILINE)
_NAME = re.compile(r"[\w.]+|\*")
_MAIN = re.compile(r"^if __name__ == ", re.MULTILINE)
_MAIN_OF_C = re.compile(r"^(?:int|auto) main ?\(", re.MULTILINE)
_TEST = re.compile(r"(?:test_\w+|\w+_test)\.py$")
_NO_TOPIC = frozenset(("test", "kernel", "kernels", "triton", "ops", ""))
Graph = Mapping[Path, frozenset[Path]]


def read_all(files: Iterable[Path]) -> dict[Path, str]:
    """The texts of those that can be read."""
    texts = {}
    for file in files:
        try:
            texts[file] = file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
    return texts


def imports(texts: Mapping[Path, str]) -> Graph:
    """Of each file, those of the others that it imports. All paths are absolute."""
    by_name: dict[str, list[Path]] = {}
    for file in texts:
        by_name.setdefault(_parts(file)[-1], []).append(file)
    return {file: frozenset(_imported(file, text, by_name)) - {file} for file, text in texts.items()}


def callers(texts: Mapping[Path, str], graph: Graph, target: Path, names: Collection[str]) -> list[Path]:
    """The tests and scripts that come to `target`, in the order in which they are likely to call it.

    Those go first that write one of the `names`, then those named like the file, then the nearest.
    """
    far = _distances(target, _turned(graph))
    word = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b" if names else r"(?!)")

    def order(file: Path) -> tuple[object, ...]:
        alike = len(_words(file) & _words(target))
        return not word.search(texts[file]), -alike, not is_test(file), far[file], str(file)

    return sorted((file for file in far if is_runnable(file, texts[file])), key=order)


def users(texts: Mapping[Path, str], graph: Graph, target: Path, name: str) -> list[Path]:
    """The files that come to `target` and write one of its names, but for tests, the nearest first."""
    word = re.compile(rf"\b{re.escape(name)}\b")
    far = _distances(target, _turned(graph))
    found = [file for file in far if file != target and not is_test(file) and word.search(texts[file])]
    return sorted(found, key=lambda file: (far[file], -shared(file, target), str(file)))


def reached(graph: Graph, file: Path) -> list[Path]:
    """The file and all that it comes to, the nearest first."""
    far = _distances(file, graph)
    return sorted(far, key=lambda one: (far[one], str(one)))


def is_test(file: Path) -> bool:
    """Whether pytest would look for tests in it."""
    return _TEST.match(file.name) is not None


def is_runnable(file: Path, text: str) -> bool:
    """Whether it has tests, or does something when it is run."""
    return is_test(file) or is_program(file, text) or _MAIN.search(text) is not None


def is_program(file: Path, text: str) -> bool:
    """Whether it is a program of CUDA C++."""
    return file.suffix == ".cu" and _MAIN_OF_C.search(text) is not None


def _words(file: Path) -> set[str]:
    return set(file.stem.lower().split("_")) - _NO_TOPIC


def _parts(file: Path) -> tuple[str, ...]:
    """A file's path as the parts of a module's name: that of a package is its folder's."""
    return file.parts[:-1] if file.name == "__init__.py" else (*file.parts[:-1], file.stem)


def _imported(file: Path, text: str, by_name: Mapping[str, Sequence[Path]]) -> Iterator[Path]:
    for module in _modules(file, text):
        named = by_name.get(module[-1], ()) if module else ()
        fitting = {found: shared(file, found) for found in named if _parts(found)[-len(module) :] == module}
        nearest = max(fitting.values(), default=0)
        yield from (found for found, shared in fitting.items() if shared == nearest)


def shared(one: Path, other: Path) -> int:
    """How many folders the paths begin with alike."""
    return sum(
        1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(one.parts, other.parts, strict=False))
    )


def _modules(file: Path, text: str) -> Iterator[tuple[str, ...]]:
    """The modules that a text imports, also those that `from a import b` may mean; relative ones by their whole path."""
    for dots, module, names in _FROM.findall(text):
        folder = file.parts[: len(file.parts) - len(dots)] if dots else ()
        base = (*folder, *filter(None, module.split(".")))
        yield base
        yield from ((*base, name) for name in _NAME.findall(names) if name not in ("*", "as"))
    for names in _IMPORT.findall(text):
        for one in names.split(","):
            parts = tuple(filter(None, one.split(" as ")[0].strip().split(".")))
            yield from (parts[:count] for count in range(1, len(parts) + 1))


def imported_names(text: str) -> frozenset[str]:
    """All names in the import statements of a text: modules, their parts, and what is imported from them."""
    said = [" ".join(found) for found in _FROM.findall(text)] + _IMPORT.findall(text)
    return frozenset(name for statement in said for name in re.findall(r"\w+", statement))


def _turned(graph: Graph) -> Graph:
    """Of each file, those that import it."""
    users: dict[Path, set[Path]] = {}
    for file, others in graph.items():
        for other in others:
            users.setdefault(other, set()).add(file)
    return {file: frozenset(found) for file, found in users.items()}


def _distances(start: Path, graph: Graph) -> dict[Path, int]:
    far, waiting = {start: 0}, deque([start])
    while waiting:
        file = waiting.popleft()
        for other in graph.get(file, frozenset()) - far.keys():
            far[other] = far[file] + 1
            waiting.append(other)
    return far
