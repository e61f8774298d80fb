"""Every regular expression that a module keeps takes time in proportion to the text, whatever stands in it."""

import importlib
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

import kernelwright
from kernelwright.proof.worker.languages.python.kernels import cuda_files, defined_in
from kernelwright.source.document import parse
from kernelwright.source.kernels import find_kernels

# What is repeated; each behind what may begin a match.
REPEATED = (
    "a", "1", " ", "_", "(", "<", "a.", "a,", "#", "'", '"', "\\", "\n", " \n", "@a.", "a=", "-1", "1.", "1e", "__a__ ",
    "__global__ ", "__global__ a<", "void ", "randn(1,", "to(", "import a", "import (", "def f(", "range( ", "a.shape ",
    "a + ", "://a:", "a:", "torch.empty(", "-----BEGIN ", "two pass ", "workload:", "/", "a_",
)  # fmt: skip
BEGINNINGS = (
    "",
    "# workload: ",
    "import (",
    "__global__ a",
    "x = ",
    "range(",
    "://",
    "to(",
    "\n@",
    "'''",
    "torch.empty(",
)
SHORT, LONG = 1500, 6000
SCRIPT = "kernelwright.models.litellm_process"  # a process of its own, since litellm takes seconds to import
SEARCHES = re.compile(r"(\w+)\.(?:search|finditer|findall|sub|split)\(")


def compiled() -> Iterator[tuple[str, re.Pattern, bool]]:
    """Each pattern with its name, and whether a module searches with it, or it only matches at a beginning."""
    modules = [found.name for found in pkgutil.walk_packages(kernelwright.__path__, "kernelwright.")]
    texts = {name: Path(find_spec(name).origin).read_text(encoding="utf-8") for name in modules}
    seen: set[re.Pattern] = set()
    for module, text in texts.items():
        if "re.compile(" not in text:
            continue
        searched = searched_with(module, texts)
        kept = kept_by_text(text) if module == SCRIPT else vars(importlib.import_module(module))
        for name, value in kept.items():
            for pattern in patterns_in(value):
                if pattern not in seen:
                    seen.add(pattern)
                    yield f"{module}.{name}", pattern, name in searched


def searched_with(module: str, texts: dict[str, str]) -> set[str]:
    """What the module, or one that imports it from there, searches with."""
    searched = set(SEARCHES.findall(texts[module]))
    for text in texts.values():
        _, found, following = text.partition(f"\nfrom {module} import ")
        names = following.partition(")" if following.startswith("(") else "\n")[0]
        searched |= set(re.findall(r"\w+", names)) & set(SEARCHES.findall(text) if found else ())
    return searched


def kept_by_text(text: str) -> dict[str, re.Pattern]:
    """The patterns of a module that is not imported, each a line of its own."""
    lines = re.findall(r"^(\w+) = (re\.compile\(.*)", text, re.MULTILINE)
    assert len(lines) == text.count("re.compile(")
    return {name: eval(compiling, {"re": re}) for name, compiling in lines}


def patterns_in(value: object) -> Iterator[re.Pattern]:
    if isinstance(value, re.Pattern):
        yield value
    elif isinstance(value, tuple | list):
        for one in value:
            yield from patterns_in(one)


def cost(pattern: re.Pattern, text: str, searched: bool) -> float:
    """Seconds of the CPU, the least of two attempts."""
    given = text.encode() if isinstance(pattern.pattern, bytes) else text
    taken = []
    for _ in range(2):
        begun = time.process_time()
        for _ in pattern.finditer(given) if searched else [pattern.match(given), pattern.fullmatch(given)]:
            pass
        taken.append(time.process_time() - begun)
    return min(taken)


@pytest.mark.parametrize(
    ("pattern", "searched"), [pytest.param(pattern, searched, id=name) for name, pattern, searched in compiled()]
)
def test_a_pattern_is_linear(pattern: re.Pattern, searched: bool) -> None:
    for beginning in BEGINNINGS:
        for part in REPEATED:
            text = lambda size, beginning=beginning, part=part: beginning + part * (size // len(part)) + "!"
            short = cost(pattern, text(SHORT), searched)
            if short < 0.001:
                continue  # a quadratic one takes longer
            long = cost(pattern, text(LONG), searched)
            assert long < 8 * short, f"{beginning!r} and {part!r} repeated: {short:.4f} s, then {long:.4f} s"


@pytest.mark.parametrize("part", ["a", "_", "a.", "/", "__global__ a<", " ", "1", "(", "@a."])
@pytest.mark.parametrize(
    "reads",
    [cuda_files, lambda text: defined_in([text]), lambda text: find_kernels(parse(text))],
    ids=["cuda", "names", "kernels"],
)
def test_a_line_of_a_megabyte_is_read_in_no_time(reads: Callable[[str], object], part: str) -> None:
    text = f"# {part * ((1 << 20) // len(part))}\n# workload: f(randn(4))\ndef f(x):\n    return x * 2\n"
    begun = time.process_time()
    reads(text)
    assert time.process_time() - begun < 5.0
