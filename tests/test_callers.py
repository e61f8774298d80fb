"""Which tests and scripts of a workspace come to a file, told by imports alone."""

from pathlib import Path

import pytest

from kernelwright.callers import callers, imported_names, imports, is_runnable, is_test, reached, read_all, users

FILES = {
    "src/pkg/__init__.py": "from .norm import rms_norm\nfrom . import layers\n",
    "src/pkg/kernels/norm_kernel.py": "import torch\n",
    "src/pkg/norm.py": "from .kernels.norm_kernel import (\n    norm_kernel,  # launched below\n)\n",
    "src/pkg/layers.py": "import pkg.norm as norm, os\n",
    "src/other/norm.py": "import torch\n",
    "tests/test_norm.py": "from pkg.norm import rms_norm\n\ndef test_it(): ...\n",
    "tests/test_layers.py": "import pkg\n\ndef test_all(): pkg.layers\n",
    "tests/test_other.py": "from other import norm\n\ndef test_all(): norm\n",
    "bench.py": "def main():\n    from pkg.layers import Layer\n\nif __name__ == '__main__':\n    main()\n",
    "tools.py": "from pkg.layers import Layer\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def found(project: Path, target: str, *names: str) -> list[str]:
    texts = read_all(sorted(project.rglob("*.py")))
    return [str(file.relative_to(project)) for file in callers(texts, imports(texts), project / target, names)]


def test_tests_and_scripts_come_to_a_kernel_through_other_files(project: Path) -> None:
    assert found(project, "src/pkg/kernels/norm_kernel.py") == [
        "tests/test_norm.py",
        "tests/test_layers.py",
        "bench.py",
    ]


def test_those_go_first_that_name_what_is_looked_for(project: Path) -> None:
    assert found(project, "src/pkg/kernels/norm_kernel.py", "Layer")[0] == "bench.py"


def test_a_module_of_the_same_name_elsewhere_is_another_one(project: Path) -> None:
    assert found(project, "src/other/norm.py") == ["tests/test_other.py"]


def test_a_script_comes_to_what_its_imports_import(project: Path) -> None:
    texts = read_all(sorted(project.rglob("*.py")))
    names = [str(file.relative_to(project)) for file in reached(imports(texts), project / "tests/test_norm.py")]
    assert names == ["tests/test_norm.py", "src/pkg/norm.py", "src/pkg/kernels/norm_kernel.py"]


def test_a_kernel_is_launched_where_its_name_is_written(project: Path) -> None:
    texts = read_all(sorted(project.rglob("*.py")))
    (project / "src/pkg/more.py").write_text("from pkg.norm import norm_kernel, rms_norm\n")
    more = {**texts, (far := project / "src/pkg/more.py"): far.read_text()}
    kernels, launcher = project / "src/pkg/kernels/norm_kernel.py", project / "src/pkg/norm.py"
    assert users(more, imports(more), kernels, "norm_kernel") == [launcher, far]
    assert users(texts, imports(texts), kernels, "rms_norm") == [project / "src/pkg/__init__.py"]


def test_of_several_that_fit_the_nearest_is_meant(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "norm.py").write_text("")
        (tmp_path / folder / "test_norm.py").write_text("import norm\n")
    assert found(tmp_path, "two/norm.py") == ["two/test_norm.py"]


def test_files_import_one_another_in_a_ring(tmp_path: Path) -> None:
    for one, other in (("a", "b"), ("b", "a")):
        (tmp_path / f"{one}.py").write_text(f"import {other}\n")
    (tmp_path / "test_a.py").write_text("import a, missing\n")
    assert found(tmp_path, "b.py") == ["test_a.py"]


@pytest.mark.parametrize(
    ("name", "text", "test", "runnable"),
    [
        ("test_a.py", "", True, True),
        ("a_test.py", "", True, True),
        ("a.py", "if __name__ == '__main__':\n    run()\n", False, True),
        ("attest.py", "def run(): ...\n", False, False),
    ],
)
def test_what_can_be_run(name: str, text: str, test: bool, runnable: bool) -> None:
    assert (is_test(Path(name)), is_runnable(Path(name), text)) == (test, runnable)


def test_a_file_that_cannot_be_read_is_left_out(tmp_path: Path) -> None:
    assert read_all([tmp_path / "missing.py"]) == {}


def test_names_in_import_statements() -> None:
    text = "from .a.b import (\n    c,\n    d as e,\n)\nimport f.g as h, i  # j\nimport k\nx = 'import'\n"
    assert imported_names(text) == {*"abcdefghik", "as"}
