"""Every rule for Triton on its worked example, cut into the kernel's file and the launching one: the same change, in two."""

import re

import pytest

from kernelwright.macro.strategies import for_language
from kernelwright.macro.strategy import Strategy, ask
from kernelwright.values import Language, joined, pages
from macro.triton_files import refusal, rewritten

RULES = [one for one in for_language(Language.TRITON) if one.intent is not ask]
IMPORTS = "import torch\nimport triton\n"


def cut(text: str) -> tuple[str, str]:
    """The file with everything up to the workload lines, and one with these and the launcher."""
    kernels, launcher = re.split(r"\n\n\n(?=# workload: )", text, maxsplit=1)
    name = re.search(r"^def (\w+)\(", kernels, re.MULTILINE)
    assert name is not None
    return kernels + "\n", f"{IMPORTS}\nfrom .kernels import {name[1]}\n\n\n{launcher}"


@pytest.mark.parametrize("strategy", RULES, ids=[one.id for one in RULES])
def test_the_worked_example_in_two_files(strategy: Strategy) -> None:
    before = joined(cut(strategy.example.before)[0], "layers.py", cut(strategy.example.before)[1])
    assert before is not None
    after = cut(strategy.example.after)
    assert after in {tuple(page.text for page in pages(text)) for text in rewritten(strategy, before)}


def test_what_stands_in_the_way_is_told_with_its_file() -> None:
    (rows,) = (one for one in RULES if one.id == "triton.several-rows")
    kernels, launcher = cut(rows.example.before)
    twice = launcher + launcher[launcher.index("\ndef ") :].replace("def ", "def again_")
    text = joined(kernels, "layers.py", twice)
    assert text is not None
    assert "launched from several places" in refusal(rows, text).reason


def test_a_name_that_only_the_other_file_imports() -> None:
    """`triton` in the launching file is none of the kernel's."""
    (autotune,) = (one for one in RULES if one.id == "triton.autotune")
    kernels, launcher = cut(autotune.example.before)
    text = joined(
        kernels.replace("import triton\n", "from triton import jit\n").replace("@triton.jit", "@jit"), "l.py", launcher
    )
    assert text is not None
    assert refusal(autotune, text).reason.startswith("The file does not import triton as a module")
