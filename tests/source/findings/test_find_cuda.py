import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelwright.source.cuda.kernels import find_kernels
from kernelwright.source.findings import Finding
from kernelwright.source.findings.find_cuda import find_cuda_findings
from kernelwright.source.workload import evaluate
from kernelwright.values import Call, apply
from source.findings.snippets_cuda import WRONG

EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "cuda").glob("*.cu"))
TEXTS = [texts[i] for texts in WRONG.values() for i in (0, -1)]


def findings(text: str, lines: range | None = None, case: int = 0) -> tuple[Finding, ...]:
    calls: dict[str, list[Call]] = {}
    for line in re.findall(r"^// workload: (.*)", text, re.M):
        call = evaluate(line)
        calls.setdefault(call.entry, []).append(call)
    return find_cuda_findings(text, find_kernels(text), {name: found[case] for name, found in calls.items()}, lines)


EXPECTED = {
    "black_scholes": ["cuda.restrict"],
    "decode_attention": ["cuda.uncoalesced-access"],
    "layer_norm": ["cuda.restrict"],
    "matvec": ["cuda.uncoalesced-access"],
    "quantize_int8": ["cuda.restrict"],
    "softmax": ["cuda.restrict", "cuda.uncoalesced-access", "cuda.uncoalesced-access"],
    "stream_compaction": ["cuda.contended-atomic"],
    "transpose": ["cuda.uncoalesced-access"],
}
"""What is said of the examples beside that nobody looks at the errors of their launches."""


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("case", [0, 1])
def test_the_examples_get_what_an_engineer_would_say(path: Path, case: int):
    found = findings(path.read_text(encoding="utf-8"), case=case)
    codes = [one.code for one in found if one.code != "cuda.unchecked-launch"]
    assert sorted(codes) == EXPECTED.get(path.stem, [])


@pytest.mark.parametrize(
    ("stem", "old", "new", "case", "message"),
    [
        ("saxpy", "if (i < n)", "if (i <= n)", 1, "block 3, thread 235 reads x[1003] of 1003 elements"),
        ("transpose", "row < rows && ", "", 1, "block (8, 4), thread (0, 3) reads input[8771] of 8643 elements"),
        ("matmul_tiled", "        }\n        __syncthreads();", "        }", 0, "The next turn of the loop writes As"),
        (
            "layer_norm",
            "    __syncthreads();\n\n    float squares",
            "\n    float squares",
            0,
            "other threads may still",
        ),
        (
            "softmax",
            "i < cols; i++) {\n            sum",
            "i <= cols; i++) {\n            sum",
            0,
            "of 33554432 elements",
        ),
        ("n_body", "float distance2 = dx", "float distance2 = 0.001 + dx", 0, "0.001 is a double"),
        ("conv2d", "dim3(16, 16)", "dim3(48, 48)", 0, "A block has 1024 threads at most, and this one asks for 2304."),
    ],
)
def test_a_fault_planted_into_an_example_is_said(stem: str, old: str, new: str, case: int, message: str):
    text = next(path for path in EXAMPLES if path.stem == stem).read_text(encoding="utf-8")
    assert old in text
    before = {one.message for one in findings(text, case=case)}
    told = [one.message for one in findings(text.replace(old, new), case=case) if one.message not in before]
    assert any(message in one for one in told)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=st.sampled_from(TEXTS), data=st.data())
def test_half_typed_code_never_raises(text: str, data: st.DataObject):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 60)))
    typed = data.draw(st.text("abkx_01 .,()[]{}=+-*/%:<>&#'\"\n\t\\ü核\0", max_size=6))
    changed = text[:start] + typed + text[end:]
    for finding in find_cuda_findings(changed):
        assert 0 <= finding.start <= finding.end <= len(changed)
        if finding.fix is not None:
            apply(finding.fix.edits, changed)


MANY = "\n\n".join(
    re.sub(r"\b(kernel|run)\b", rf"\1_{number}", text)
    for number, text in enumerate(TEXTS[:16])
    if "#define" not in text and "// workload" not in text
)


@settings(max_examples=60, deadline=None)
@given(
    first=st.integers(0, MANY.count("\n")),
    count=st.integers(1, 5),
    at=st.floats(0, 1),
    typed=st.sampled_from(["x", "(", ":", "\n", '"', " ", "{", "}", "/*"]),
)
def test_the_findings_of_lines_are_those_of_the_file_on_them(first: int, count: int, at: float, typed: str):
    position = int(at * len(MANY))
    text = MANY[:position] + typed + MANY[position:]
    lines = range(first, first + count)
    near, every = findings(text, lines), findings(text)
    assert set(near) <= set(every)
    assert {one for one in every if one.start_line < lines.stop and lines.start <= one.end_line} <= set(near)


WIDENED = """__global__ void shift(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] + 0.1;
}
"""


@pytest.mark.parametrize("prefix", ["", "// 核 für alle \U0001f600\n", "\n" * 40])
def test_a_finding_says_where_and_how_to_mend_it(prefix: str):
    text = prefix + WIDENED.replace("if (i < n)", "/* größe 核 */ if (i < n)")
    (finding,) = findings(text)
    line = text.split("\n")[finding.start_line]
    assert text[finding.start : finding.end] == "0.1"
    assert line[finding.start_column : finding.end_column] == "0.1"
    assert finding.kernel == "shift"
    assert finding.fix is not None
    assert "x[i] + 0.1f;" in apply(finding.fix.edits, text)


def test_windows_line_ends():
    text = WIDENED.replace("\n", "\r\n")
    (finding,) = findings(text)
    assert text[finding.start : finding.end] == "0.1"
    assert finding.start_line == 2


def test_an_error_elsewhere_costs_no_finding():
    for broken in ("void f(int a, {\n", "struct S {\n int x\n};\n", "int x = (1;\n", '#define A "\n'):
        assert [one.code for one in findings(WIDENED + broken)] == ["cuda.double-precision"]


def test_a_message_names_the_line_of_the_file():
    text = """__global__ void k(const float* x, float* y) {
    __shared__ float s[64];
    s[threadIdx.x] = x[threadIdx.x];
    y[threadIdx.x] = s[63 - threadIdx.x];
}
"""
    for above in ("", "\n" * 7):
        (finding,) = findings(above + text)
        assert f"writes in line {3 + len(above)}," in finding.message


@pytest.mark.parametrize(
    "text", ["", "\n", "\0", "{", "(" * 5000, "__global__", "int x = " + "-" * 3000 + "1;", "\ufeff"]
)
def test_odd_texts(text: str):
    assert find_cuda_findings(text) == ()
