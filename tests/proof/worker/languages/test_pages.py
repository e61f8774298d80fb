"""A text of two pages, loaded: what the last page imports from the first one's file is the first page, of this very text."""

from pathlib import Path

import pytest

from interpreted import interpreted
from kernelwright.values import joined

PROGRAM = """
from pathlib import Path
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.languages.python.modules import load_module, unload
from kernelwright.values import joined

FOLDER = Path({folder!r})

def text(first, second="layers.py", launcher=None):
    return joined(f"NAME = {{first!r}}\\n", second, launcher or (FOLDER / second).read_text())
"""

LAUNCHERS = {
    "by name": "from kernels import NAME\n\ndef told():\n    return NAME\n",
    "as an attribute": "import kernels\n\ndef told():\n    return kernels.NAME\n",
    "when called": (
        "import kernels\n\ndef told():\n    from kernels import NAME\n    import other\n    return NAME + other.told()[:0]\n"
    ),
    "by way of another": "from other import told\n",
}


def ran(program: str, folder: Path) -> list[str]:
    (folder / "program.py").write_text(PROGRAM.format(folder=str(folder)) + program)
    return interpreted(folder / "program.py").splitlines()


@pytest.mark.parametrize("launcher", LAUNCHERS.values(), ids=LAUNCHERS)
def test_texts_side_by_side_see_their_own_pages(tmp_path: Path, launcher: str) -> None:
    (tmp_path / "kernels.py").write_text("NAME = 'disk'\n")
    (tmp_path / "other.py").write_text("from kernels import NAME\n\ndef told():\n    return NAME\n")
    (tmp_path / "layers.py").write_text(launcher)
    said = ran(
        "path = str(FOLDER / 'kernels.py')\n"
        "one, two = load_module(path, text('one')), load_module(path, text('two'))\n"
        "print(one.told(), two.told(), one.told())\n"
        "disk = load_module(str(FOLDER / 'layers.py'), (FOLDER / 'layers.py').read_text())\n"
        "print(disk.told(), one.told())\n"
        "unload(one), unload(two)\n"
        "import sys\n"
        "print(load_module(str(FOLDER / 'layers.py'), (FOLDER / 'layers.py').read_text()).told(), sys.meta_path[0])\n",
        tmp_path,
    )
    assert said[0] == "one two one"
    assert said[1] == "disk one"
    assert said[2].startswith("disk ")
    assert "Pages" not in said[2]


def test_relative_imports_of_a_package_whose_init_imports_both(tmp_path: Path) -> None:
    package = tmp_path / "package"
    (package / "inner").mkdir(parents=True)
    (package / "__init__.py").write_text("from .inner.kernels import NAME\nfrom .layers import told\n")
    (package / "inner" / "__init__.py").write_text("from .kernels import NAME\n")
    (package / "inner" / "kernels.py").write_text("NAME = 'disk'\n")
    launcher = "from . import NAME as again\nfrom .inner import NAME\n\ndef told():\n    return NAME, again\n"
    (package / "layers.py").write_text(launcher)
    program = (
        "path = str(FOLDER / 'package/inner/kernels.py')\n"
        "launcher = (FOLDER / 'package/layers.py').read_text()\n"
        "one, two = (load_module(path, text(name, '../layers.py', launcher)) for name in ('one', 'two'))\n"
        "print(one.told(), two.told())\n"
    )
    assert ran(program, tmp_path) == ["('one', 'one') ('two', 'two')"]


def test_a_launcher_that_does_not_come_to_the_kernel_is_refused(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text("NAME = 'disk'\n")
    (tmp_path / "layers.py").write_text("def told():\n    from kernels import NAME\n    return NAME\n")
    program = (
        "try:\n    load_module(str(FOLDER / 'kernels.py'), text('one'))\n"
        "except JobFailed as failed:\n    print(failed.failure.message)\n"
    )
    expected = "Loading layers.py does not import kernels.py, so that its kernel could not be replaced."
    assert ran(program, tmp_path) == [expected]


def test_lines_are_those_of_the_joined_text(tmp_path: Path) -> None:
    (tmp_path / "kernels.py").write_text("NAME = 'disk'\n")
    launcher = "from __future__ import annotations\nimport kernels\n\nraise ValueError\n"
    program = (
        f"whole = text('one', 'layers.py', {launcher!r})\n"
        "try:\n    load_module(str(FOLDER / 'kernels.py'), whole)\n"
        "except JobFailed as failed:\n    print(whole.split('\\n')[failed.failure.line])\n"
    )
    assert ran(program, tmp_path) == ["raise ValueError"]
    assert joined("", "layers.py", launcher)


def test_what_does_not_import_the_pages_is_loaded_once(tmp_path: Path) -> None:
    """It may register operators, which can be done once in a process."""
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "ops.py").write_text(
        "import builtins\nassert not hasattr(builtins, 'ops_of_mine')\nbuiltins.ops_of_mine = 1\n"
    )
    (package / "kernels.py").write_text("from . import ops\nNAME = 'disk'\n")
    (package / "between.py").write_text("from package import (\n    ops,\n    kernels,\n)\n")
    launcher = "from .between import kernels\n\ndef told():\n    return kernels.NAME\n"
    (package / "layers.py").write_text(launcher)
    program = (
        "path = str(FOLDER / 'package/kernels.py')\n"
        f"texts = [joined('from . import ops\\nNAME = ' + repr(name), 'layers.py', {launcher!r}) for name in ('one', 'two')]\n"
        "one, two = (load_module(path, whole) for whole in texts)\n"
        "unload(one)\n"
        "print(two.told(), load_module(path, texts[0]).told())\n"
        "disk = load_module(str(FOLDER / 'package/layers.py'), (FOLDER / 'package/layers.py').read_text())\n"
        "print(disk.told())\n"
    )
    assert ran(program, tmp_path) == ["two one", "disk"]
