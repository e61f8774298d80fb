"""Workload lines from calls that happen: which are seen, how they are written, and what cannot be."""

import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from cli.terminal import kernelwright
from cuda_program import PROGRAM
from kernelwright.proof.worker.inputs import from_call
from kernelwright.proof.worker.recording.written import Unsayable, arguments, grid_of
from kernelwright.proof.worker.subject import _made, case_call
from kernelwright.recording import Recorded, edits_for, entries_of, runs_without_gpu, source_files, watch
from kernelwright.values import Made, apply

MIXED = torch.linspace(-1, 1, 6)
KERNELS = """\
import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(x_ptr, y_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x_ptr + offsets, mask=offsets < n) + tl.load(y_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, total, mask=offsets < n)


@triton.jit
def copy_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)


@triton.autotune([triton.Config({"BLOCK": size}) for size in (64, 32)], key=["n"])
@triton.heuristics({"HALF": lambda given: given["BLOCK"] // 2})
@triton.jit
def tuned_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, HALF: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, tl.load(x_ptr + offsets, mask=offsets < n) * HALF, mask=offsets < n)


class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = torch.empty_like(x)
        copy_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
        return out

    @staticmethod
    def backward(ctx, gradient):
        return gradient
"""
OPS = """\
import torch
from kernels import add_kernel


def add(x, y):
    out = torch.zeros_like(x)
    add_kernel[lambda meta: (-(-x.numel() // meta["BLOCK"]),)](x, y, out, x.numel(), BLOCK=128)
    return out


class Scale(torch.nn.Module):
    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(features))
        self.eps = eps

    def forward(self, x, lengths=None):
        return torch.softmax(x * self.weight, dim=-1)


def cast(x, dtype=torch.float16, *, scale=1.0):
    return torch.softmax(x.to(dtype) * scale, dim=-1)


def fails(x, options):
    raise ValueError("in its first line")
    return torch.softmax(x, dim=-1)


class HeadConfig:
    def __init__(self, features, scale=1.0):
        self.features, self.scale = features, scale


class Head(torch.nn.Module):
    def __init__(self, config):
        super().__init__()
        self.scale = config.scale

    def forward(self, x):
        return torch.softmax(x * self.scale, dim=-1)
"""
SCRIPT = """\
import copy
import torch
import ops
import twin
from kernels import Copy, tuned_kernel

torch.manual_seed(0)
mixed = torch.linspace(-1, 1, 3)

for n in (1000, 50, 50, 60, 70, 80):
    ops.add(torch.randn(n), torch.rand(n))
scale = ops.Scale(64)
scale(torch.randn(8, 3, 64)[:, 1])
scale(torch.randn(8, 64), torch.tensor([0, 3, 7]))
ops.cast(torch.randn(4, 32))
ops.cast(torch.randn(4, 32), torch.bfloat16, scale=2.0)
ops.cast(torch.randn(4).as_strided((3, 2), (1, 1)))
ops.Head(ops.HeadConfig(8))(torch.randn(4, 8))
ops.Head(ops.HeadConfig(8, scale=0.5))(torch.randn(4, 8))
copy.deepcopy(scale)(torch.randn(8, 64))
twin.cast(torch.randn(3, 5))
Copy.apply(torch.randn(100, requires_grad=True)).sum().backward()
weight = torch.randn(100, requires_grad=True)
tuned_kernel[lambda meta: (100 // meta["HALF"],)](weight, torch.zeros(100), 100)
try:
    ops.fails(mixed, {})
except ValueError:
    pass
try:
    ops.fails(mixed, [2])
except ValueError:
    raise SystemExit(3)
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    for name, text in (("kernels", KERNELS), ("ops", OPS), ("twin", OPS), ("script", SCRIPT)):
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    (folder / "sitecustomize.py").write_text("print('the sitecustomize of the project')\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def recorded(project: Path) -> tuple[int, dict[str, Recorded]]:
    entries = [entry for file in source_files([project]) for entry in entries_of(file, file.read_text())]
    environment = {**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(project)}
    with watch(entries, environment) as watching:
        status = subprocess.run(
            [sys.executable, project / "script.py"], env=watching.environment, check=False
        ).returncode
        found = watching.found()
    of_twin = {one.entry.name: one for one in found if one.entry.file.endswith("twin.py")}
    assert {name: one.lines for name, one in of_twin.items()} == {"cast": ("cast(randn(3, 5))",)}, (
        "equal code, another file"
    )
    return status, {one.entry.name: one for one in found if one not in of_twin.values()}


def test_the_command_runs_as_it_would_alone(recorded: tuple[int, dict[str, Recorded]]) -> None:
    assert recorded[0] == 3


@pytest.mark.parametrize(
    ("entry", "lines"),
    [
        (
            "add_kernel",
            (
                "add_kernel[(8,)](randn(1000), rand(1000), zeros(1000), 1000, BLOCK=128)",
                "add_kernel[(1,)](randn(80), rand(80), zeros(80), 80, BLOCK=128)",
                "add_kernel[(1,)](randn(70), rand(70), zeros(70), 70, BLOCK=128)",
                "add_kernel[(1,)](randn(50), rand(50), zeros(50), 50, BLOCK=128)",
            ),
        ),
        ("tuned_kernel", ("tuned_kernel[(6,)](randn(100), zeros(100), 100)",)),
        ("Copy", ("Copy.apply(randn(100, requires_grad=True))",)),
        ("Head", ("Head(HeadConfig(features=8))(randn(4, 8))", "Head(HeadConfig(features=8, scale=0.5))(randn(4, 8))")),
        ("Scale", ("Scale(64)(randn(8, 64), tensor([0, 3, 7]))", "Scale(64)(randn(8, 64, strides=(192, 1)))")),
        ("cast", ("cast(randn(4, 32))", "cast(randn(4, 32), bfloat16, scale=2.0)")),
        ("fails", ("fails(randn(3), [2])",)),
    ],
)
def test_what_is_called_becomes_lines(
    recorded: tuple[int, dict[str, Recorded]], entry: str, lines: tuple[str, ...]
) -> None:
    assert recorded[1][entry].lines == lines


def test_what_a_line_cannot_say_is_told(recorded: tuple[int, dict[str, Recorded]]) -> None:
    assert recorded[1]["fails"].refused == ("argument 2 is a dict",)
    assert recorded[1]["cast"].refused == ("With these strides the elements lie over each other",)
    assert recorded[1]["Scale"].refused == ("it is not known what the module was constructed with",)
    assert recorded[1]["add_kernel"].seen == 5


def test_lines_stand_above_what_they_call_once(project: Path, recorded: tuple[int, dict[str, Recorded]]) -> None:
    text = (project / "ops.py").read_text()
    own = [one for one in recorded[1].values() if one.entry.file.endswith("ops.py")]
    written = apply(edits_for(text, own), text)
    assert "# workload: cast(randn(4, 32), bfloat16, scale=2.0)\ndef cast(" in written
    assert "scale=2.0)\r\ndef cast(" in apply(edits_for(crlf := text.replace("\n", "\r\n"), own), crlf)
    again = [Recorded(entry, one.lines, one.seen, ()) for one in own for entry in entries_of(Path("ops.py"), written)]
    assert edits_for(written, again).edits == ()


def test_the_command_line_runs_and_writes(project: Path, tmp_path: Path) -> None:
    """In the terminal of whoever asks, with the sitecustomize that is there already."""
    shutil.copytree(project, tmp_path, dirs_exist_ok=True)
    ended = subprocess.run(
        [
            sys.executable,
            "-m",
            "kernelwright",
            "record",
            "--in",
            "ops.py",
            "--write",
            "--",
            sys.executable,
            "script.py",
        ],
        cwd=tmp_path,
        env={**os.environ, "TRITON_INTERPRET": "1", "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("the sitecustomize of the project") == 2
    assert "A call cannot be written as a line: argument 2 is a dict." in ended.stdout
    assert "The command ended with status 3. 4 of 4 kernels have a recorded workload." in ended.stdout
    assert "# workload: cast(randn(4, 32))\n" in (tmp_path / "ops.py").read_text()
    assert (tmp_path / "kernels.py").read_text() == KERNELS


def test_what_was_called_before_an_interrupt_counts(project: Path) -> None:
    script = "import os, signal, time, torch, ops\nops.cast(torch.ones(2, 3))\nos.kill(os.getppid(), signal.SIGINT)\n"
    command = [sys.executable, "-c", f"{script}time.sleep(60)"]
    ended = subprocess.run(
        [sys.executable, "-m", "kernelwright", "record", "--in", "ops.py", "--", *command],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(project)},
        check=False,
        capture_output=True,
        text=True,
        # The background jobs of a shell ignore interrupts, and so would what they start.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    assert ended.returncode == 0, ended.stderr
    assert "# workload: cast(ones(2, 3))" in ended.stdout
    assert "The command was stopped. 1 of 4 kernels have a recorded workload." in ended.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--in", "ops.py", "--", "no-such-command"], "no-such-command cannot be started"),
        (["--in", "ops.py", "--", sys.executable, "-c", "pass"], "called none of the 4 entries"),
        (["--in", "script.py", "--", sys.executable, "-c", "pass"], "There is no kernel in script.py"),
        (["--in", "nowhere", "--", sys.executable, "-c", "pass"], "nowhere does not exist"),
    ],
)
def test_what_cannot_be_recorded_is_one_sentence(
    project: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(project)
    ended = kernelwright("record", *arguments)
    assert ended.exit_code == 2, ended.output
    assert words in " ".join(ended.stderr.split())


def test_a_pytest_of_another_python_is_told(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends because it has no torch, which kernelwright has."""
    monkeypatch.chdir(project)
    other = tmp_path / "pytest"
    other.write_text("#!/bin/sh\nexit 2\n")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    ended = kernelwright("record", "--in", "ops.py", "--", "pytest", "test_ops.py", "-k", "a or b")
    assert ended.exit_code == 2, ended.output
    said = " ".join(ended.stderr.split())
    assert f"pytest is {other}, of another Python than kernelwright; with the latter: kernelwright record -- " in said
    assert said.endswith("-m pytest test_ops.py -k 'a or b'")


def test_without_a_command_those_are_named_that_come_to_the_kernels(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(project)
    ended = kernelwright("record", "--in", "ops.py")
    assert ended.exit_code == 2
    assert ended.stderr == "kernelwright: Name a command behind --, such as a test that calls these kernels.\n"
    (project / "test_ops.py").write_text("import ops\n")
    ended = kernelwright("record", "--in", "ops.py", "--in", "kernels.py")
    assert ended.exit_code == 2
    assert ended.stderr.endswith("These come to the kernels:\n  kernelwright record -- pytest test_ops.py\n")


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (torch.zeros(3, 4), "zeros(3, 4)"),
        (torch.ones(3, dtype=torch.int32), "ones(3, dtype=int32)"),
        (torch.full((2, 2), 0.5), "full((2, 2), 0.5)"),
        (torch.rand(2, 3, dtype=torch.float64), "rand(2, 3, dtype=float64)"),
        (MIXED.view(3, 2).t(), "randn(2, 3, layout=transposed)"),
        (
            torch.linspace(-1, 1, 48).view(1, 3, 4, 4).to(memory_format=torch.channels_last),
            "randn(1, 3, 4, 4, layout=channels_last)",
        ),
        (MIXED[:4, None].expand(4, 8), "randn(4, 8, strides=(1, 0))"),
        (torch.full((4,), torch.nan), "out(4)"),
        (MIXED.clone().requires_grad_(), "randn(6, requires_grad=True)"),
        (torch.empty(0, 3), "zeros(0, 3)"),
        (torch.tensor(2.5), "full((), 2.5)"),
        (torch.arange(0, 65, 16, dtype=torch.int32), "arange(0, 80, 16, dtype=int32)"),
        (torch.tensor([0, 5, 5, 9]), "tensor([0, 5, 5, 9])"),
        (torch.arange(300) ** 2, "offsets(300, 89401)"),
        (torch.arange(300) ** 2 + 1, "randint(1, 89403, 300)"),
        (torch.arange(300) > 100, "randint(0, 2, 300, dtype=bool)"),
        (torch.tensor([4, 0, 3, 1, 2]), "randperm(5)"),
        (torch.tensor([[3, 1], [4, 1]]), "tensor([[3, 1], [4, 1]])"),
        (torch.tensor([7, *range(40), 3]), "randint(0, 40, 42)"),
        (torch.tensor([True, False, True]), "randint(0, 2, 3, dtype=bool)"),
        ([1, (2.5, None)], "[1, (2.5, None)]"),
        (torch.float16, "float16"),
        (float("inf"), "inf"),
        ("causal", "'causal'"),
        (signal.SIGINT, "2"),
        (
            SimpleNamespace(n=8, inner=SimpleNamespace(dtype=torch.float16, kinds=["a"])),
            "SimpleNamespace(n=8, inner=SimpleNamespace(dtype=float16, kinds=['a']))",
        ),
    ],
)
def test_how_a_value_is_written(value: object, written: str) -> None:
    line = arguments([value], {})
    assert line == written
    (made,) = from_call(case_call(f"f({line})"), device="cpu", seed=0).args
    if isinstance(value, torch.Tensor):
        assert (made.shape, made.dtype, made.stride()) == (value.shape, value.dtype, value.stride())
        assert made.requires_grad == value.requires_grad
    else:
        assert made == value


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (({},), "argument 1 is a dict"),
        ((torch.ones(2, device="meta"),), "argument 1 is no ordinary tensor"),
        ((torch.full((3,), torch.inf),), "argument 1 holds infinities only"),
        ((torch.tensor([x.data_ptr() for x in (MIXED, torch.ones(3))]),), "argument 1 holds addresses of memory"),
        ((x := torch.randn(3), x.view(3)), "argument 2 shares memory with argument 1"),
        ((print,), "argument 1 is a builtin_function_or_method"),
        ((SimpleNamespace(x=[torch.ones(3)]),), "argument 1 is a SimpleNamespace"),
        ((SimpleNamespace(of={}),), "argument 1 is a dict"),
    ],
)
def test_what_has_no_words(values: tuple[object, ...], reason: str) -> None:
    with pytest.raises(Unsayable, match=f"^{reason}$"):
        arguments(values, {})


@dataclass
class Sizes:
    rows: int = 8
    scale: float = 1.0
    kinds: tuple[str, ...] = ()
    more: "Sizes | None" = None


class Open:
    def __init__(self, rows: int = 8, **more: object) -> None:
        self.rows = rows
        vars(self).update(more)


class Counted:
    made = 0

    def __init__(self, rows: int) -> None:
        Counted.made += 1
        self.rows = rows
        self.id = object()


class Shared:
    made = 0

    def __init__(self, rows: int = 8) -> None:
        Shared.made += 1
        self.rows = rows * Shared.made


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (Sizes(), "Sizes()"),
        (Sizes(16, kinds=("a", "b"), more=Sizes(2)), "Sizes(rows=16, kinds=('a', 'b'), more=Sizes(rows=2))"),
        (Open(4, bias=True), "Open(rows=4, bias=True)"),
    ],
)
def test_a_constructor_is_given_a_configuration(value: object, written: str) -> None:
    names = {"Sizes": Sizes, "Open": Open}
    assert arguments([value], {}, names=names) == written
    (made,) = case_call(f"F({written})(randn(8))").init_args or ()
    assert isinstance(made, Made)
    assert vars(_made(SimpleNamespace(**names), made)) == vars(value)


@pytest.mark.parametrize(
    ("value", "kind"),
    [(Counted(4), "Counted"), (Sizes(more=print), "Sizes"), (Open(), "Open"), (Shared(2), "Shared")],
)
def test_a_configuration_that_would_be_another_is_not_written(value: object, kind: str) -> None:
    with pytest.raises(Unsayable, match=f"argument 1 is a {kind}"):
        arguments([value], {}, names={"Counted": Counted, "Sizes": Sizes, "Shared": Shared})


def test_what_holds_more_than_data_is_not_made_to_find_out() -> None:
    values = Counted(4), torch.nn.Linear(2, 2), Sizes(more=Counted(4))  # type: ignore[arg-type]
    before, drawn = Counted.made, torch.random.get_rng_state()
    for value in values:
        with pytest.raises(Unsayable):
            arguments([value], {}, names={"Counted": Counted, "Linear": torch.nn.Linear, "Sizes": Sizes})
    assert Counted.made == before
    assert torch.random.get_rng_state().equal(drawn)


def test_a_grid_that_is_a_function_is_asked() -> None:
    assert grid_of(lambda meta: (meta["n"] // 4, 1, 1), [{"n": 32}]) == "(8,)"
    blocks = lambda meta: (4, meta["n"] // meta["BLOCK"])
    assert grid_of(blocks, [{"n": 32, "BLOCK": 8}, {"n": 32, "BLOCK": 4}]) == "(4, 8)", "as the smallest block needs"
    with pytest.raises(Unsayable, match=r"^the grid needs BLOCK, which is not known before it runs$"):
        grid_of(blocks, [{"n": 32}])


def test_folders_of_environments_are_left_out(tmp_path: Path) -> None:
    for place in ("a.py", "package/b.py", ".venv/c.py", "env/d.py", "node_modules/e.py", "package/notes.txt"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).touch()
    (tmp_path / "env" / "pyvenv.cfg").touch()
    assert [str(file.relative_to(tmp_path)) for file in source_files([tmp_path])] == ["a.py", "package/b.py"]


WITHOUT_GPU = """\
import torch
import triton
import ops
from kernels import add_kernel

assert torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)
x = torch.randn(1000, device="cuda")
assert x.is_cuda and x.device.type == "cuda" and not x.is_cpu
with torch.cuda.device(x.device):
    ops.add(x, torch.rand(1000).cuda())
tuned = triton.autotune([triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 128})], ["n"])(add_kernel)
out = torch.zeros(256, device="cuda:0")
tuned[(4,)](x[:256].clone(), torch.ones_like(out), out, 256)
assert torch.equal(out.cpu(), x[:256].cpu() + 1)
"""


def test_without_a_gpu_a_command_believes_that_there_is_one(project: Path, tmp_path: Path) -> None:
    """In Triton's interpreter, by the recorder's own doing: the command's environment says nothing."""
    shutil.copytree(project, tmp_path, dirs_exist_ok=True)
    (tmp_path / "on_gpu.py").write_text(WITHOUT_GPU, encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    ended = subprocess.run(
        [sys.executable, "-m", "kernelwright", "record", "--in", ".", "--", sys.executable, "on_gpu.py"],
        cwd=tmp_path,
        env={**environment, "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    assert "The command ran without a GPU, its launches in Triton's interpreter on the CPU." in ended.stdout
    assert "status" not in ended.stdout
    assert "  # workload: add_kernel[(8,)](randn(1000), rand(1000), zeros(1000), 1000, BLOCK=128)\n" in ended.stdout
    assert ended.stdout.count("# workload:") == 2, ended.stdout


@pytest.mark.parametrize(
    ("environment", "without"),
    [
        ({"CUDA_VISIBLE_DEVICES": ""}, True),
        ({"CUDA_VISIBLE_DEVICES": "-1", "TRITON_INTERPRET": "1"}, True),
        ({"CUDA_VISIBLE_DEVICES": "", "TRITON_INTERPRET": "0"}, False),
    ],
)
def test_when_a_command_runs_without_a_gpu(environment: dict[str, str], without: bool) -> None:
    assert runs_without_gpu(environment) is without


def test_a_ring_of_links_ends_nothing(tmp_path: Path) -> None:
    ring = tmp_path / "ring.py"
    ring.symlink_to(ring)
    assert source_files([tmp_path]) == [ring]


def test_a_program_of_cuda_is_run_in_the_emulator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "program.cu").write_text(PROGRAM, encoding="utf-8")
    ended = kernelwright("record", "--write", "--", "program.cu", "70")
    assert ended.exit_code == 0, ended.output
    assert "The program ran in the emulator, on the CPU." in ended.output
    assert "A call cannot be written as a line: it reads offset, which the program fills in." in ended.output
    assert "The command ended with status 3. 3 of 5 kernels have a recorded workload." in ended.output
    assert "A call cannot be written as a line: its template arguments, <EACH>, depend on where" in ended.output
    text = (tmp_path / "program.cu").read_text()
    scaled = "// workload: scale<<<(n + 31) / 32, 32>>>(out=out(n), x=rand(n), by=1.5, n=70)\n"
    again = "// workload: scale<<<(n + 31) / 32, 32>>>(out=inout(rand(n)), x=rand(n), by=0.1, n=70)\n"
    assert f"{scaled}{again}__global__ void scale(" in text
    rows = "struct(all=struct(rows=2, length=35), by=0.5, x=rand(70), out=inout(rand(70)))"
    assert f"// workload: rowwise<<<3, 32>>>(p={rows})\n__global__ void rowwise(" in text
    assert "// workload: fill<4><<<1, 8>>>(counts=out(n, dtype=int32), n=32)\ntemplate <int EACH> __global__" in text


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (PROGRAM.replace("int main(", "int begin("), "has no main function that could be run"),
        (PROGRAM.replace("out[i] = by", "out[j] = by"), "The file does not compile at line 6"),
    ],
)
def test_what_is_no_program_says_so(program: str, words: str, tmp_path: Path) -> None:
    file = tmp_path / "program.cu"
    file.write_text(program, encoding="utf-8")
    command = [sys.executable, "-m", "kernelwright", "record", "--", str(file)]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert words in ended.stderr
