"""Texts loaded one after the other, as a judge does in its life: each imports from the folder of its own file only."""

from pathlib import Path

import pytest

from interpreted import interpreted

LOADING = """
import os, sys
from kernelwright.proof.worker.languages.python.modules import load_module
before = list(sys.path)
first = load_module({first!r}, "import neighbour as n")
assert n_of(first) == "first", n_of(first)
try:
    second = load_module({second!r}, "import neighbour as n")
    print(n_of(second))
except Exception as error:
    print(type(error).__name__, str(error)[:60])
print([place for place in sys.path if place not in before])
"""


def ran(program: str, folder: Path) -> str:
    """What the program says, in a process that has imported torch already."""
    (folder / "program.py").write_text(program)
    return interpreted(folder / "program.py")


@pytest.mark.parametrize("place", ["neighbour.py", "neighbour/__init__.py", "neighbour/part.py"])
def test_the_next_text_does_not_import_from_the_folder_of_the_last(tmp_path: Path, place: str) -> None:
    told = "def n_of(module):\n    return getattr(module.n, 'NAME', None) or __import__('neighbour.part').part.NAME\n"
    for name in ("first", "second"):
        (tmp_path / name / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name / place).write_text(f"NAME = {name!r}")
    (tmp_path / "bare").mkdir()
    for second, expected in (("second", "second"), ("bare", "JobFailed The file imports 'neighbour', which")):
        files = {"first": str(tmp_path / "first/a.py"), "second": str(tmp_path / second / "b.py")}
        said, path = ran(told + LOADING.format(**files), tmp_path).splitlines()
        assert said.startswith(expected)
        assert path == str([str(tmp_path / second)])


def test_a_text_of_a_package_leaves_its_root_too(tmp_path: Path) -> None:
    package = tmp_path / "root" / "package"
    package.mkdir(parents=True)
    (tmp_path / "other").mkdir()
    (package / "__init__.py").write_text("")
    (package / "neighbour.py").write_text("NAME = 'first'")
    told = "def n_of(module):\n    return module.n.NAME\n"
    program = told + LOADING.format(first=str(package / "a.py"), second=str(tmp_path / "other" / "b.py"))
    program = program.replace('"import neighbour as n"', '"from . import neighbour as n"', 1)
    said, path = ran(program, tmp_path).splitlines()
    assert said.startswith("JobFailed")
    assert path == str([str(tmp_path / "other")])


def test_imports_that_run_in_a_ring_begin_at_the_package(tmp_path: Path) -> None:
    """As they do where Python imports the file: `layers` goes before `state`, which cannot be the first."""
    package = tmp_path / "package"
    (package / "kernels").mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "kernels" / "__init__.py").write_text("from .. import layers\n")
    (package / "layers.py").write_text("LAYER = 1\nfrom .state import GROUP\n")
    (package / "state.py").write_text("from .layers import LAYER\nGROUP = LAYER + 1\n")
    program = f"""
from kernelwright.proof.worker.languages.python.modules import load_module
print(load_module({str(package / "kernels" / "a.py")!r}, "from ..state import GROUP").GROUP)
"""
    assert ran(program, tmp_path) == "2\n"
