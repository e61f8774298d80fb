"""The written invariants about who may import what."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1] / "server" / "kernelwright"
FILES = sorted(ROOT.rglob("*.py"))

IMPURE = {"os", "subprocess", "socket", "asyncio", "sqlite3", "time", "random", "tempfile", "shutil", "threading"}
WORKER_MAY_IMPORT = (
    "kernelwright.values",
    "kernelwright.wire",
    "kernelwright.proof.jobs",
    "kernelwright.proof.worker",
    "kernelwright.source.interface",
    "kernelwright.source.workload",
)


def imports(file: Path) -> set[str]:
    """Every dotted name that the file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return found


def within(file: Path, *folders: str) -> bool:
    return any((ROOT / folder) in file.parents or file == ROOT / folder for folder in folders)


@pytest.mark.parametrize(
    ("packages", "folder"),
    [
        ({"pygls", "lsprotocol"}, "lsp"),
        ({"torch", "triton", "numpy"}, "proof/worker"),
        ({"litellm"}, "micro/llm"),
    ],
)
def test_each_heavy_package_has_one_room(packages: set[str], folder: str) -> None:
    strangers = {
        str(file.relative_to(ROOT))
        for file in FILES
        if not within(file, folder) and {name.split(".")[0] for name in imports(file)} & packages
    }
    assert strangers == set()


def test_pure_rooms_do_no_input_or_output() -> None:
    impure = {
        (str(file.relative_to(ROOT)), name)
        for file in FILES
        if within(file, "source", "macro", "micro/rewrite", "values")
        for name in imports(file)
        if name.split(".")[0] in IMPURE
    }
    assert impure == set()


def test_the_worker_needs_nothing_of_ours_but_what_it_may_load_anywhere() -> None:
    strangers = {
        (str(file.relative_to(ROOT)), name)
        for file in FILES
        if within(file, "proof/worker")
        for name in imports(file)
        if name.split(".")[0] == "kernelwright" and not name.startswith(WORKER_MAY_IMPORT)
    }
    assert strangers == set()


def test_the_server_starts_without_heavy_packages() -> None:
    # As the console script does it, with nothing on stdin: the client is gone at once.
    program = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
sys.argv = ["kernelwright", "serve"]
from kernelwright.cli.main import main
main()
"""
    ended = subprocess.run([sys.executable, "-c", program], input="", capture_output=True, text=True, check=True)
    loaded = set(ended.stderr.split())
    assert "kernelwright.lsp.server" in loaded
    heavy = {"torch", "triton", "numpy", "litellm", "typer", "click", "rich", "pydantic", "sqlite3", "tree_sitter"}
    assert heavy & loaded == set()
    later = {"engine", "source", "macro", "micro", "proof", "journal"}  # loaded when a file is opened
    assert {name.split(".")[1] for name in loaded if name.startswith("kernelwright.")} & later == set()
    assert {name for name in loaded if name.startswith("kernelwright.cli.")} == {
        "kernelwright.cli.main",
        "kernelwright.cli.ending",
    }


@pytest.mark.parametrize(("arguments", "status"), [(["--help"], 0), (["--no-such-option"], 2)])
def test_serve_still_reads_its_options(arguments: list[str], status: int) -> None:
    command = [sys.executable, "-m", "kernelwright", "serve", *arguments]
    ended = subprocess.run(command, input="", capture_output=True, text=True, check=False)
    assert ended.returncode == status, ended.stderr
    assert "kernelwright serve" in ended.stdout + ended.stderr


def test_every_module_says_what_it_is_for() -> None:
    silent = {
        str(f.relative_to(ROOT)) for f in FILES if not ast.get_docstring(ast.parse(f.read_text(encoding="utf-8")))
    }
    assert silent == set()
