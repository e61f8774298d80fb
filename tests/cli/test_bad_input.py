"""Bad input: exit status 2, one sentence that says what to change, no traceback, and nothing lost."""

import os
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.terminal import COPY, SCORE, SMALL, file, kernelwright
from kernelwright import files
from kernelwright.cli import console

CASES: list[tuple[str, str | bytes, tuple[str, ...], str]] = [
    (
        "empty file",
        "",
        (),
        "has no kernel: no launched @triton.jit function, no nn.Module, no tensor function, and no workload line that",
    ),
    ("no kernel", "print('hello')\n", (), "has no kernel: no launched @triton.jit function"),
    (
        "no kernel in a broken file",
        "def f(x:\n    return x * 2\n\n\n# workload: f(randn(4))\n",
        (),
        "does not parse at line 1: '(' was never closed",
    ),
    ("no workload", SMALL.split("# workload")[0], (), "add '# workload: Score(randn(…))' above it."),
    (
        "no such generator",
        SMALL.replace("randn(8", "rnadn(8"),
        (),
        "line 15 cannot be used: There is no generator rnadn",
    ),
    ("broken workload", SMALL.replace("16))", "16)"), (), "The workload on line 15 cannot be used"),
    ("not UTF-8", b'x = "\xe9"\n', (), "is not UTF-8 (byte 5); save it as UTF-8 first."),
    ("unknown kernel", SMALL, ("--kernel", "Other"), "has no kernel 'Other'; it has Score."),
    (
        "unknown strategy",
        SMALL,
        ("--strategy", "torch.magic"),
        "There is no strategy 'torch.magic'; choose one of cuda.",
    ),
    (
        "unknown strategy to leave out",
        SMALL,
        ("--without", "torch.reassociate, torch.magic"),
        "There is no strategy 'torch.magic'; choose one of cuda.",
    ),
    (
        "strategy of another language",
        SMALL,
        ("--strategy", "triton.autotune"),
        "triton.autotune is not for torch kernels such as Score; choose one of torch.",
    ),
    (
        "several kernels",
        SMALL + SMALL.replace("Score", "Other"),
        (),
        "has several kernels with a workload; choose one with --kernel: Score, Other.",
    ),
    ("no interpreter", SMALL, ("--interpreter", "/no/such/python"), "The interpreter /no/such/python does not exist"),
    ("not a Python", SMALL, ("--interpreter", "/bin/true"), "/bin/true did not start as a Python"),
    (
        "result in no folder",
        SMALL,
        ("--json", "/no/such/folder/out.json"),
        "the folder /no/such/folder does not exist.",
    ),
    ("result is a folder", SMALL, ("--json", "/"), "/ is a folder; name a file for the result."),
    # Those below run the file.
    ("workload raises", SMALL.replace("randn(8, 16)", "randn(8, 15)"), (), "Calling Score raised RuntimeError: "),
    ("import raises", "raise ValueError('no')\n" + SMALL, (), "Importing the file failed at line 1: ValueError: no."),
    (
        "syntax error",
        SMALL.replace("self.linear(x)\n", "self.linear(x\n"),
        (),
        "line 11: SyntaxError: '(' was never closed",
    ),
    ("syntax error in Triton", COPY.replace("BLOCK=256)", "BLOCK==)"), (), "line 14: SyntaxError: invalid syntax"),
]


@pytest.mark.parametrize(("text", "options", "sentence"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_one_sentence(tmp_path: Path, text: str | bytes, options: tuple[str, ...], sentence: str) -> None:
    path = file(tmp_path, text)
    before = path.read_bytes()
    ended = kernelwright("optimize", path, "--write", *options)
    assert ended.exit_code == 2, ended.output
    assert sentence in ended.stderr
    assert ended.stderr.count("kernelwright: ") == 1
    assert "Traceback" not in ended.output
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir() if p.name != ".kernelwright"] == [path.name]


def test_a_path_that_is_no_file(tmp_path: Path) -> None:
    for command in ("optimize", "verify", "measure", "revert", "export", "history"):
        ended = kernelwright(command, tmp_path / "absent.py")
        assert ended.exit_code == 2
        assert "absent.py does not exist" in ended.stderr
    ended = kernelwright("optimize", tmp_path)
    assert ended.exit_code == 2
    assert "is a folder; name a Python file." in ended.stderr


def test_a_file_in_a_language_that_is_not_read(tmp_path: Path) -> None:
    ended = kernelwright("optimize", file(tmp_path, "__global__ void f() {}\n", "saxpy.hip"))
    assert ended.exit_code == 2
    assert "is of a kind that Kernelwright does not read (.hip); choose a file in Python (.py) or CUDA" in ended.stderr


def test_what_is_judged_against_must_be_there(tmp_path: Path) -> None:
    ended = kernelwright("verify", file(tmp_path, SMALL), "--against", tmp_path / "absent.py")
    assert ended.exit_code == 2
    assert "absent.py does not exist." in ended.stderr


def test_a_result_never_overwrites_the_file(tmp_path: Path) -> None:
    path = file(tmp_path, SMALL)
    ended = kernelwright("verify", path, "--json", path)
    assert ended.exit_code == 2
    assert "The result would overwrite" in ended.stderr
    assert path.read_text() == SMALL


def test_options_that_do_not_parse(tmp_path: Path) -> None:
    assert kernelwright("optimize", file(tmp_path, SMALL), "--steps", "0").exit_code == 2
    assert kernelwright("no-such-command").exit_code == 2
    ended = kernelwright("strategies", "--language", "fortran")
    assert ended.exit_code == 2
    assert "There is no language 'fortran'; choose one of triton, torch, cuda." in ended.stderr


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """An environment like this one, without the packages whose names begin as given."""

    def without(name: str) -> Path:
        folder = tmp_path_factory.mktemp("environment")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        packages = next(folder.glob("lib/python*/site-packages"))
        for package in Path(sysconfig.get_paths()["purelib"]).iterdir():
            if not package.name.startswith((name, "__pycache__", "_virtualenv", "distutils-precedence")):
                (packages / package.name).symlink_to(package)
        return folder / "bin" / "python"

    return without


@pytest.mark.parametrize(("package", "text"), [("torch", SMALL), ("triton", COPY)])
def test_a_missing_package_is_named(
    tmp_path: Path, interpreter: Callable[[str], Path], package: str, text: str
) -> None:
    python = interpreter(package)
    ended = kernelwright("optimize", file(tmp_path, text), "--interpreter", python)
    assert ended.exit_code == 3, ended.output
    assert f"{package} is not installed in" in ended.stderr or f"imports '{package}', which" in ended.stderr
    assert "--interpreter" in ended.stderr


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("import not_a_package\n" + SMALL, "The file imports 'not_a_package', which "),
        (
            SMALL.replace("self.linear(x)", "self.linear(x.cuda())"),
            "The code needs an NVIDIA GPU, and there is none here",
        ),
    ],
)
def test_what_the_machine_lacks_is_no_fault_of_the_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, sentence: str
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    path = file(tmp_path, text)
    ended = kernelwright("optimize", path, "--write", own_workers=True)
    assert ended.exit_code == 3, ended.output
    assert sentence in " ".join(ended.output.split())
    assert "rejected" not in ended.output
    assert path.read_text() == text
    assert "No steps yet" in kernelwright("history", path).output


def test_a_long_file_is_answered(tmp_path: Path) -> None:
    functions = "".join(f"def f{i}(a):\n    return a + {i}\n" for i in range(25_000))
    started = time.process_time()
    ended = kernelwright("optimize", file(tmp_path, f"{SMALL}\n{functions}"), "--kernel", "Nope")
    assert ended.exit_code == 2
    assert "has no kernel 'Nope'" in ended.stderr
    assert time.process_time() - started < 10  # of the processor: another program may be at work


def test_a_full_disk(tmp_path: Path) -> None:
    against = file(tmp_path, SMALL, "baseline.py")
    ended = kernelwright("verify", file(tmp_path, SMALL), "--against", against, "--json", "/dev/full")
    assert ended.exit_code == 2
    assert "The result cannot be written to /dev/full: No space left on device." in ended.stderr
    assert "Verified, the baseline is this very text: passed" in ended.stdout
    assert Path("/dev/full").is_char_device()


def test_a_workspace_that_cannot_keep_a_journal(tmp_path: Path) -> None:
    (tmp_path / ".kernelwright").write_text("not a folder")
    path = file(tmp_path, SCORE)
    ended = kernelwright("optimize", path, "--write", "--strategy", "torch.reassociate")
    assert ended.exit_code == 0, ended.output
    assert "steps are kept in memory until it can be" in ended.stderr
    assert "kept" in ended.stdout
    assert "torch.sum(y" not in path.read_text()
    assert (tmp_path / ".kernelwright").read_text() == "not a folder"
    assert sorted(os.listdir(tmp_path)) == [".kernelwright", "score.py"]


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command of bash, in which `$K` is the command line."""
    environment = {**os.environ, "K": f"{sys.executable} -m kernelwright", "XDG_STATE_HOME": str(folder)}
    return subprocess.run(
        ["bash", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )


@pytest.mark.parametrize(
    ("command", "status", "said"),
    [
        ("$K strategies >&-", 0, ""),
        ("$K strategies >&- 2>&- <&-", 0, ""),
        ("set -o pipefail; $K strategies | (exec <&-; sleep 3)", 141, ""),
        ("$K strategies >/dev/full", 2, "kernelwright: The output cannot be written: No space left on device."),
        ("$K strategies --language fortran 2>/dev/full", 2, ""),
    ],
)
def test_an_output_that_nobody_takes(tmp_path: Path, command: str, status: int, said: str) -> None:
    ended = shell(command, tmp_path)
    assert ended.returncode == status
    assert ended.stderr.strip() == said


def test_a_workspace_that_is_no_folder_any_more_has_no_journal(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    score = file(folder, SMALL)
    with score.open() as held:
        score.unlink()
        folder.rmdir()
        link = tmp_path / "score.py"
        link.symlink_to(f"/proc/self/fd/{held.fileno()}")
        ended = kernelwright("optimize", link, "--write", "--interpreter", "/no/such/python")
    said = " ".join(ended.stderr.split())
    assert f"There is no journal, because the workspace {folder} is not a folder." in said
    assert "The interpreter /no/such/python does not exist" in said
    assert ended.exit_code == 2


def test_what_is_no_regular_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    score = file(tmp_path, SMALL)
    refused = "pipe is a pipe; name a Python file."
    for command in ("optimize", "verify", "measure", "profile", "revert"):
        ended = kernelwright(command, tmp_path / "pipe")
        assert (ended.exit_code, refused in ended.stderr) == (2, True), command
    assert refused in kernelwright("verify", score, "--against", tmp_path / "pipe").stderr
    assert "/dev/zero is a device" in kernelwright("verify", "/dev/zero").stderr
    ended = kernelwright("verify", score, "--json", tmp_path / "pipe")
    assert "is a named pipe that nobody reads; name a file for the result." in ended.stderr
    assert ended.exit_code == 2


def test_a_byte_order_mark_hides_no_line_and_stays(tmp_path: Path) -> None:
    path = file(tmp_path, b"\xef\xbb\xbf# workload: f(randn(4))\ndef f(x):\n    return x * 2\n")
    text = files.read(path)
    assert console.find_kernel(path, text, None).name == "f"
    files.replace(path, text, text.replace("x * 2", "x + x"))
    assert path.read_bytes() == b"\xef\xbb\xbf# workload: f(randn(4))\ndef f(x):\n    return x + x\n"
