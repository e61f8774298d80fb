"""CUDA C++ in the strings of Python: kernels, findings, workload lines and edits at their places in the Python text."""

import pytest

from kernelwright.languages import absence, support_of
from kernelwright.micro.edits import difference
from kernelwright.values import Edits, Kernel, Language, Refusal, Workload, apply

PYTHON = support_of("python")
LINE = "# workload: scale<<<(n + 255) / 256, 256>>>(x=randn(n), y=out(n), n=1000)"
TEXT = f'''\
import cupy as cp

{LINE}
source = r"""
extern "C" __global__ void scale(const float* x, float* y, int n) {{
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = x[i] * 2.1;
}}
"""
kernel = cp.RawKernel(source, "scale")


def run(x, y):
    kernel((4,), (256,), (x, y, x.size))
'''


def the_kernel(text: str = TEXT) -> Kernel:
    (kernel,) = (one for one in PYTHON.kernels(text) if one.language is Language.CUDA)
    return kernel


def test_the_kernel_of_a_string() -> None:
    kernel = the_kernel()
    lines = TEXT.split("\n")
    assert (kernel.name, kernel.entry, kernel.facts.parameters) == ("scale", "scale", ("x", "y", "n"))
    assert lines[kernel.name_line][kernel.name_column :].startswith("scale(")
    assert lines[kernel.start_line : kernel.end_line] == lines[4:8]
    assert (kernel.entry_start_line, kernel.entry_end_line) == (3, 9)
    assert PYTHON.kernels(TEXT, range(5, 6)) == (kernel,)
    assert PYTHON.kernels(TEXT, range(11, 13)) == ()


def test_a_finding_and_its_remedy() -> None:
    found = next(one for one in PYTHON.findings(TEXT, PYTHON.kernels(TEXT)) if one.code == "cuda.double-precision")
    assert TEXT[found.start : found.end] == "2.1"
    assert TEXT.split("\n")[found.start_line][found.start_column : found.end_column] == "2.1"
    assert found.fix is not None
    assert apply(found.fix.edits, TEXT) == TEXT.replace("2.1", "2.1f")


def test_how_it_is_called() -> None:
    workload = PYTHON.workload(TEXT, "scale")
    assert isinstance(workload, Workload)
    assert [(case.line, f"# workload: {case.text}") for case in workload.cases] == [(2, LINE)]
    assert PYTHON.workload_problems(TEXT) == ()
    assert [case.line for case in PYTHON.workload_lines(TEXT)] == [2]


def test_a_line_inside_of_the_string() -> None:
    inside = TEXT.replace(f"{LINE}\n", "").replace('extern "C"', LINE.replace("#", "//") + '\nextern "C"')
    workload = PYTHON.workload(inside, "scale")
    assert isinstance(workload, Workload)
    assert [(case.line, case.column) for case in PYTHON.workload_lines(inside)] == [(3, len("// workload: "))]
    wrong = inside.replace("x=randn(n)", "z=randn(n)")
    assert [one.message for one in PYTHON.workload_problems(wrong)] == ["scale has no parameter z."]


def test_a_line_for_a_launcher_in_the_string() -> None:
    launcher = (
        'void run_all(const float* x, float* y, int n) {\n  scale<<<(n + 255) / 256, 256>>>(x, y, n);\n}\n"""\nkernel'
    )
    text = TEXT.replace(LINE, "# workload: run_all(x=randn(n), y=out(n), n=1000)").replace('"""\nkernel', launcher)
    assert (the_kernel(text).entry, PYTHON.workload_problems(text)) == ("run_all", ())
    assert isinstance(PYTHON.workload(text, "run_all"), Workload)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("x=randn(n)", "x=normal(n)", "normal"),
        ("x=randn(n)", "z=randn(n)", "scale has no parameter z."),
        ("<<<(n + 255) / 256, 256>>>", "", "scale is a kernel: write its launch too"),
        ("scale<<<", "scale<float><<<", "scale is no template: write scale<<<grid, block>>>(…)."),
        ("scale<<<", "other<<<", "The file has no function or class named other."),
    ],
)
def test_what_is_wrong_with_a_line(old: str, new: str, message: str) -> None:
    (problem,) = PYTHON.workload_problems(TEXT.replace(old, new))
    assert message in problem.message
    assert problem.line == 2


def test_what_to_write_where_there_is_no_line() -> None:
    bare = TEXT.replace(f"{LINE}\n", "")
    refusal = PYTHON.workload(bare, "scale")
    assert isinstance(refusal, Refusal)
    assert "add '# workload: scale<<<grid, block>>>(" in refusal.reason
    lines = PYTHON.lines_from_signature(bare, the_kernel(bare))
    assert isinstance(lines, tuple)
    for line in lines:
        assert line.startswith("# workload: scale<<<")
        assert PYTHON.workload_problems(f"{line}\n{bare}") == ()
        assert isinstance(PYTHON.workload(f"{line}\n{bare}", "scale"), Workload)


def test_what_is_compiled_is_the_string_alone() -> None:
    unit = PYTHON.unit(TEXT, the_kernel())
    assert unit.language == "cuda-cpp"
    assert unit.run.split()[:3] == ["//workload:", "scale<<<(n", "+"]
    assert "cupy" not in unit.run
    assert PYTHON.unit("import torch\n", the_kernel()).run == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (TEXT.replace('r"""', '"""\\n'), "line 4 is not read: it has escapes"),
        (TEXT.replace("RawKernel(source", "RawKernel(source % 2"), ""),
        (
            TEXT.replace(
                "def run(x, y):", "# workload: scale(randn(8))\ndef scale(x):\n    return x * 2\n\n\ndef run(x, y):"
            ),
            "has the name of what line 14 defines",
        ),
    ],
)
def test_a_kernel_that_is_not_read(text: str, reason: str) -> None:
    assert all(one.language is not Language.CUDA for one in PYTHON.kernels(text))
    said = absence(PYTHON, text, PYTHON.kernels(text), "scale_kernel")
    assert reason in said
    assert len(PYTHON.unread(text)) == (1 if reason else 0)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("x[i] * 2.1;", "x[i] + x[i];", ""),
        ("x[i] * 2.1;", 'x[i] * 2.1; system("ls");', "`system` starts processes"),
        ("(4,)", "(8,)", "Only the string that holds `scale` may be changed"),
        ("1000)", "10)", "Only the string that holds `scale` may be changed"),
        ('r"""\n', '"""\\n', "must stay defined in a string"),
        ("const float* x, float* y", "float* y, const float* x", "The parameters of `scale` must stay"),
    ],
)
def test_an_edit_from_outside(old: str, new: str, reason: str) -> None:
    assert old in TEXT
    found = PYTHON.edit_problem(TEXT, TEXT.replace(old, new, 1), the_kernel())
    assert (found is None) == (reason == "")
    assert reason in (found.reason if found is not None else "")
    editable = [piece for piece in PYTHON.pieces(TEXT, the_kernel()) if piece.editable]
    assert [piece.first_line for piece in editable] == ['source = r"""']


def test_edits_of_the_code_are_edits_of_the_document() -> None:
    unit = PYTHON.unit(TEXT, the_kernel())
    edits = PYTHON.in_document(TEXT, the_kernel(), difference(unit.text, unit.text.replace("2.1", "3.0"), "three"))
    assert isinstance(edits, Edits)
    assert (apply(edits, TEXT), edits.summary) == (TEXT.replace("2.1", "3.0"), "three")


def test_half_typed_texts_are_answered() -> None:
    for end in range(len(TEXT)):
        for kernel in PYTHON.kernels(TEXT[:end]):
            assert isinstance(PYTHON.workload(TEXT[:end], kernel.entry), Workload | Refusal)
        PYTHON.findings(TEXT[:end], PYTHON.kernels(TEXT[:end]))
        PYTHON.workload_problems(TEXT[:end])
        PYTHON.unread(TEXT[:end])
