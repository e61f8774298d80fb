"""`infer`: lines that ran are printed, written above what they call, and told as JSON in the form of `record`."""

import json
import re
from pathlib import Path

import pytest

from cli.terminal import COPY, SMALL, file, kernelwright
from test_inferring import TEXT as MODES

WITHOUT = COPY.split("# workload")[0]
LINE = "copy(randn(4096, 1024))"


def test_a_line_that_ran_is_printed_and_written(tmp_path: Path) -> None:
    path, out = file(tmp_path, WITHOUT, "copy_.py"), tmp_path / "lines.json"
    ended = kernelwright("infer", tmp_path, "--json", out)
    assert ended.exit_code == 0, ended.output
    assert f"  # workload: {LINE}\n" in ended.stdout
    assert "1 of 1 kernels without a workload have a line that ran." in ended.stdout
    (row,) = json.loads(out.read_text())["recorded"]
    assert (row["entry"]["name"], row["entry"]["kernels"], row["lines"]) == ("copy", ["copy_kernel"], [LINE])
    assert (row["seen"], row["refused"]) == (1, [])
    assert path.read_text() == WITHOUT, "nobody asked for that"
    assert kernelwright("infer", path, "--write").exit_code == 0
    assert f"# workload: {LINE}\ndef copy(x):" in path.read_text()
    again = kernelwright("infer", path)
    assert again.exit_code == 0, again.output
    assert "0 of 0 kernels without a workload have a line that ran; 1 had one before." in again.stdout


def test_what_does_not_run_says_why(tmp_path: Path) -> None:
    text = "import torch\n\n\ndef halved(x):\n    x = torch.softmax(x / 2, -1)\n    raise ValueError('not today')\n"
    path = file(tmp_path, text)
    ended = kernelwright("infer", path, "--write")
    assert ended.exit_code == 0, ended.output
    assert "  A line does not run: raises at line 6: ValueError: not today.\n" in ended.stdout
    assert "0 of 1 kernels without a workload have a line that ran." in ended.stdout
    assert path.read_text() == text


def test_where_the_launcher_does_not_run_the_kernel_itself_may(tmp_path: Path) -> None:
    path = file(tmp_path, WITHOUT.replace("    return out\n", "    raise ValueError('not today')\n"))
    ended = kernelwright("infer", path, "--write")
    assert ended.exit_code == 0, ended.output
    assert "1 of 1 kernels without a workload have a line that ran." in ended.stdout
    assert "# workload: copy_kernel[(" in path.read_text()
    assert "; 1 had one before." in kernelwright("infer", path).stdout


BOTH = f"""{WITHOUT}

@triton.jit
def twice_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + at, tl.load(x_ptr + at, mask=at < n) * 2, mask=at < n)


def twice(x):
    out = torch.empty_like(x)
    twice_kernel[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out
"""
CUDA = """
__global__ void halved(const float* x, float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = x[i] / 2;
}

__global__ void filled(float* out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = 1;
}
"""


@pytest.mark.parametrize(
    ("name", "text", "kernel", "line", "other"),
    [
        ("both.py", BOTH, "twice_kernel", "# workload: twice(", "copy("),
        ("both.cu", CUDA, "filled", "// workload: filled<<<", "halved<<<"),
    ],
)
def test_one_kernel_can_be_named(tmp_path: Path, name: str, text: str, kernel: str, line: str, other: str) -> None:
    ended = kernelwright("infer", file(tmp_path, text, name), "--kernel", kernel)
    assert ended.exit_code == 0, ended.output
    assert f"  {line}" in ended.stdout
    assert other not in ended.stdout
    assert "1 of 1 kernels without a workload have a line that ran." in ended.stdout


def test_a_kernel_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    ended = kernelwright("infer", file(tmp_path, BOTH, "both.py"), "--kernel", "thrice_kernel")
    assert ended.exit_code == 2, ended.output
    said = " ".join(ended.stderr.split())
    assert "There is no kernel 'thrice_kernel' in" in said
    assert said.endswith("both.py; there are copy_kernel, twice_kernel.")


def test_a_line_that_is_wrong_is_for_a_person_to_mend(tmp_path: Path) -> None:
    ended = kernelwright("infer", file(tmp_path, COPY.replace("randn(1000)", "normal(1000)")))
    assert ended.exit_code == 0, ended.output
    assert "0 of 0 kernels without a workload have a line that ran; 1 had one before." in ended.stdout


@pytest.mark.parametrize(
    ("text", "words"),
    [("x = 1\n", "There is no kernel in"), (None, "does not exist")],
)
def test_what_cannot_be_inferred(tmp_path: Path, text: str | None, words: str) -> None:
    place = tmp_path / "nowhere.py" if text is None else file(tmp_path, text)
    ended = kernelwright("infer", place)
    assert ended.exit_code == 2, ended.output
    assert words in " ".join(ended.stderr.split())


def test_an_interpreter_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    ended = kernelwright("infer", file(tmp_path, WITHOUT), "--interpreter", tmp_path / "python")
    assert ended.exit_code == 2, ended.output
    assert "does not exist" in ended.stderr
    assert "Here that is the option --interpreter." in " ".join(ended.stderr.split())
    assert "have a line that ran" not in ended.stdout


OF_DATA = """import torch


def normed(x, module: torch.nn.Module, eps_of):
    n, m = x.shape
    assert not module.training and eps_of.layer_norm_eps < 0.1
    return torch.nn.functional.layer_norm(x, (module.hidden_size,), eps=eps_of.layer_norm_eps)
"""


def test_what_is_read_by_attributes_is_data(tmp_path: Path) -> None:
    path = file(tmp_path, OF_DATA.replace("eps_of", "config"))
    ended = kernelwright("infer", path, "--write")
    assert ended.exit_code == 0, ended.output
    given = "SimpleNamespace(hidden_size=1024, training=False), SimpleNamespace(layer_norm_eps=1e-06)"
    assert f"# workload: normed(randn(4096, 1024), {given})\ndef normed(" in path.read_text()
    checked = kernelwright("verify", path, "--against", path)
    assert checked.exit_code == 0, checked.output


def test_a_module_is_tried_too(tmp_path: Path) -> None:
    ended = kernelwright("infer", file(tmp_path, SMALL.split("# workload")[0]))
    assert ended.exit_code == 0, ended.output
    # Of two sizes the larger, unless this processor is too slow for it.
    assert re.search(r"  # workload: Score\((1024|64), \1\)\(randn\(\d+, \1\)\)\n", ended.stdout), ended.stdout


def test_a_kernel_that_nothing_launches_is_launched(tmp_path: Path) -> None:
    ended = kernelwright("infer", "--write", path := file(tmp_path, WITHOUT.split("def copy(x)")[0]))
    assert ended.exit_code == 0, ended.output
    line = "# workload: copy_kernel[(65536,)](randn(65536, 64), out(65536, 64), 65536 * 64, BLOCK=64)\n"
    assert f"  {line}" in ended.stdout, "at a size that keeps a GPU busy"
    assert f"{line}@triton.jit\n" in path.read_text()
    assert "0 of 0 kernels without a workload" in kernelwright("infer", path).stdout
    ended = kernelwright("verify", path, "--against", path, "--effort", "quick")
    assert ended.exit_code == 0, ended.output


def test_a_launch_that_leaves_its_tensors_on_other_data_is_not_offered(tmp_path: Path) -> None:
    """Element 9 of the first data is negative, and that of the next ones is not."""
    far = "tl.where(tl.load(x_ptr + 9) > 0, 1 << 20, 0)"
    text = WITHOUT.split("def copy(x)")[0].replace("tl.load(x_ptr + at", f"tl.load(x_ptr + at + {far}")
    assert far in text
    path = file(tmp_path, text)
    ended = kernelwright("infer", "--write", path)
    assert ended.exit_code == 0, ended.output
    assert "A line does not run: on other data, Out of bounds: load from " in ended.stdout
    assert "0 of 1 kernels without a workload have a line that ran." in ended.stdout
    assert path.read_text() == text


def test_a_model_is_asked_where_no_guess_runs(tmp_path: Path) -> None:
    path, log, said = file(tmp_path, MODES, "modes.py"), tmp_path / "log.jsonl", tmp_path / "said.jsonl"
    line = '# workload: scaled(randn(64, 32), "a42")'
    log.write_text(json.dumps({"reply": f"The mode is a42.\n\n{line}\n"}) + "\n")
    without = kernelwright("infer", path)
    assert without.exit_code == 0, without.output
    assert "0 of 1 kernels without a workload have a line that ran." in without.stdout
    ended = kernelwright("infer", path, "--write", "--model", f"replay:{log}", "--model-log", said)
    assert ended.exit_code == 0, ended.output
    assert "1 of 1 kernels without a workload have a line that ran." in ended.stdout
    assert f"{line}\ndef scaled(x, mode):" in path.read_text()
    assert line in json.loads(said.read_text())["reply"]


def test_a_model_that_cannot_be_meant_is_one_sentence(tmp_path: Path) -> None:
    ended = kernelwright("infer", file(tmp_path, WITHOUT), "--model", "nobody:x")
    assert ended.exit_code == 2, ended.output
    assert "begins with no word that is known" in " ".join(ended.stderr.split())
