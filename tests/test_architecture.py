"""The written invariants about who may import what."""

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from kernelwright.ops import ROWS, Kind
from longest import LONGEST

ROOT = Path(__file__).parents[1] / "server" / "kernelwright"
FILES = sorted(ROOT.rglob("*.py"))

IMPURE = {"os", "subprocess", "socket", "asyncio", "sqlite3", "time", "random", "tempfile", "shutil", "threading"}
WORKER_MAY_IMPORT = (
    "kernelwright.ops",
    "kernelwright.values",
    "kernelwright.wire",
    "kernelwright.proof.jobs",
    "kernelwright.proof.worker",
    "kernelwright.source.cpp",
    "kernelwright.source.interface",
    "kernelwright.source.workload",
)


@functools.cache
def nodes(file: Path) -> tuple[ast.AST, ...]:
    """Those of the file's tree, the whole first."""
    return tuple(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))


@functools.cache
def imports(file: Path) -> frozenset[str]:
    """Every dotted name that the file imports, anywhere in it."""
    found: set[str] = set()
    for node in nodes(file):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
    return frozenset(found)


@pytest.fixture(scope="module", autouse=True)
def _trees_end() -> Iterator[None]:
    yield
    nodes.cache_clear()  # a million objects, which the tests of other files would carry along


def within(file: Path, *folders: str) -> bool:
    return any((ROOT / folder) in file.parents or file == ROOT / folder for folder in folders)


@pytest.mark.parametrize(
    ("packages", "folder"),
    [
        ({"pygls", "lsprotocol"}, "lsp"),
        ({"torch", "triton", "numpy"}, "proof/worker"),
        ({"litellm"}, "models/litellm_process.py"),
        ({"mcp", "mcp_types"}, "mcp"),
        ({"z3"}, "indices/asking.py"),
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
        if within(
            file, "source", "languages", "ops", "nest", "schedule", "emit", "macro", "micro/rewrite", "place", "values"
        )
        for name in imports(file)
        if name.split(".")[0] in IMPURE
    }
    assert impure == set()


def test_languages_read_texts_and_know_nobody_who_asks() -> None:
    known = ("kernelwright.languages", "kernelwright.source", "kernelwright.values")
    strangers = {
        (str(file.relative_to(ROOT)), name)
        for file in FILES
        if within(file, "languages")
        for name in imports(file)
        if name.split(".")[0] == "kernelwright" and not name.startswith(known)
    }
    assert strangers == set()


def test_strategies_say_what_is_wanted_and_print_nothing() -> None:
    printing = {
        (str(file.relative_to(ROOT)), name)
        for file in FILES
        if within(file, "macro")
        for name in imports(file)
        if "print" in name.split(".")[-1]
    }
    assert printing == set()


def test_the_worker_needs_nothing_of_ours_but_what_it_may_load_anywhere() -> None:
    strangers = {
        (str(file.relative_to(ROOT)), name)
        for file in FILES
        if within(file, "proof/worker")
        for name in imports(file)
        if name.split(".")[0] == "kernelwright" and not name.startswith(WORKER_MAY_IMPORT)
    }
    assert strangers == set()


# Of these, each package and each file is a room of its own in the graph of imports; of all others only the whole.
OPENED = ("kernelwright", "kernelwright.proof", "kernelwright.proof.worker")


def rooms() -> dict[str, set[str]]:
    """What each room imports of the others. Scripts, which are run and not imported, are left out."""
    names = {
        ".".join(file.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__"): file for file in FILES
    }
    inside = names.keys() - set(OPENED)
    graph: dict[str, set[str]] = {}
    for name, file in names.items():
        if name in OPENED or name.endswith("__main__"):
            continue
        for node in nodes(file):
            if isinstance(node, ast.ImportFrom) and node.module:
                wanted = {f"{node.module}.{alias.name}" for alias in node.names}
                wanted = {each if each in names else node.module for each in wanted}
            elif isinstance(node, ast.Import):
                wanted = {alias.name for alias in node.names}
            else:
                continue
            graph.setdefault(room_of(name), set()).update(room_of(each) for each in wanted & inside)
    return {room: others - {room} for room, others in graph.items()}


def room_of(module: str) -> str:
    """ "proof.worker.gate" for `kernelwright.proof.worker.gate.cases`, "macro" for `kernelwright.macro.policy.rules`."""
    folder = max((folder for folder in OPENED if module.startswith(f"{folder}.")), key=len)
    return f"{folder}.{module.removeprefix(f'{folder}.').split('.')[0]}".removeprefix("kernelwright.")


def test_no_ring_of_imports_between_rooms() -> None:
    TopologicalSorter(rooms()).prepare()  # raises CycleError, which names the ring


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
    heavy = {"torch", "triton", "numpy", "litellm", "mcp", "pydantic", "z3"}
    heavy |= {"typer", "click", "rich", "sqlite3", "tree_sitter"}
    assert heavy & loaded == set()
    later = {"engine", "source", "macro", "micro", "place", "proof", "journal"}  # loaded when a file is opened
    assert {name.split(".")[1] for name in loaded if name.startswith("kernelwright.")} & later == set()
    assert "kernelwright.languages.python" not in loaded
    assert {name for name in loaded if name.startswith("kernelwright.cli.")} == {
        "kernelwright.cli.main",
        "kernelwright.cli.ending",
    }


def test_work_on_a_python_file_loads_nothing_for_cuda_and_no_printer_of_kernels() -> None:
    program = """
import sys
from kernelwright.engine import Engine
from kernelwright.languages.python import SUPPORT
from kernelwright.macro.strategies import for_language
from kernelwright.proof import compilers
from kernelwright.source.findings.rules import by_code
from kernelwright.tools.table import TOOLS
from kernelwright.values import Language
text = "def f(x): return torch.relu(x) + 1"
SUPPORT.findings(text, SUPPORT.kernels(text))
assert for_language(Language.TORCH) and for_language(Language.TRITON) and by_code("torch.float64")
print(*sys.modules)
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(ended.stdout.split())
    assert "kernelwright.engine" in loaded
    assert {name for name in loaded if "cuda" in name} <= {
        "kernelwright.macro.strategies.torch_cuda_graph",
        "kernelwright.micro.rewrite.helper_cuda_graph",
        "kernelwright.source.cuda_strings",
    }
    assert {"torch", "numpy"} & loaded == set()
    assert {"kernelwright.coders.fusing", "kernelwright.emit.kernel"} & loaded == set()


@pytest.mark.parametrize(("arguments", "status"), [(["--help"], 0), (["--no-such-option"], 2)])
def test_serve_still_reads_its_options(arguments: list[str], status: int) -> None:
    command = [sys.executable, "-m", "kernelwright", "serve", *arguments]
    ended = subprocess.run(command, input="", capture_output=True, text=True, check=False)
    assert ended.returncode == status, ended.stderr
    assert "kernelwright serve" in ended.stdout + ended.stderr


def test_every_module_says_what_it_is_for() -> None:
    silent = {str(file.relative_to(ROOT)) for file in FILES if not ast.get_docstring(nodes(file)[0])}
    assert silent == set()


# Who may list operators of torch, and why; patterns of paths.
MAY_LIST_OPERATORS = {
    "ops/*.py": "the table",
    "micro/rewrite/algebra*.py": "rules that rewrite just these",
    "micro/rewrite/naming.py": "runs of operators that have a name together",
    "micro/rewrite/triton_rows.py": "functions of Triton's language",
    "proof/worker/gate/named_numbers.py": "comparisons of a text with a number",
    "proof/worker/interpreter/libdevice.py": "functions of libdevice",
    "proof/worker/languages/cuda/widened.py": "functions of C",
    "source/facts.py": "functions of Triton's language",
    "source/triton/elementwise.py": "functions of Triton's language",
    "source/triton/masks.py": "functions of Triton's language",
    "source/findings/*.py": "what answers with no tensor",
    "source/findings/rules/*.py": "rules that look for just these, most of them in Triton's language",
}


def lists_operators(file: Path) -> bool:
    """Whether three operators of torch or more stand in one literal collection, or in one string of words."""
    known = {name for name, row in ROWS.items() if row.kind is not Kind.CREATION}
    for node in nodes(file):
        match node:
            case ast.Tuple(elts=items) | ast.List(elts=items) | ast.Set(elts=items) | ast.Dict(keys=items):
                words = [item.value for item in items if isinstance(item, ast.Constant)]
            case ast.Constant(value=str() as text) if re.fullmatch(r"[a-z0-9_ ]+", text):
                words = text.split()
            case _:
                continue
        if sum(word in known for word in words) > 2:
            return True
    return False


def test_operators_are_listed_in_their_table_only() -> None:
    listing = [file.relative_to(ROOT) for file in FILES if lists_operators(file)]
    strangers = [str(path) for path in listing if not any(path.match(allowed) for allowed in MAY_LIST_OPERATORS)]
    assert strangers == [], "say it in a row of ops/"
    assert [allowed for allowed in MAY_LIST_OPERATORS if not any(path.match(allowed) for path in listing)] == []


def test_the_longest_files_are_there() -> None:
    assert [name for name in LONGEST if not (Path(__file__).parent / name).is_file()] == []
    assert len(set(LONGEST)) == len(LONGEST)
