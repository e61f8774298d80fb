import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelwright.source.document import parse
from kernelwright.source.findings import Finding, find_findings
from kernelwright.source.kernels import find_kernels
from kernelwright.values import TensorSpec, apply
from kernelwright.values.workload import Call
from source.findings.snippets_torch import WRONG as WRONG_TORCH
from source.findings.snippets_triton import WRONG as WRONG_TRITON

TEXTS = [texts[i] for table in (WRONG_TRITON, WRONG_TORCH) for texts in table.values() for i in (0, -1)]
CALLS = {"clear": Call("clear", (TensorSpec("zeros", (1 << 20, 4096)),), {})}


def findings(text: str) -> tuple[Finding, ...]:
    document = parse(text)
    return find_findings(document, find_kernels(document), CALLS)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(text=st.sampled_from(TEXTS), data=st.data())
def test_half_typed_code_never_raises(text: str, data: st.DataObject):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 60)))
    typed = data.draw(st.text("abkx_01 .,()[]{}=+-*/%:@'\"\n\t\\ü核\0", max_size=6))
    changed = text[:start] + typed + text[end:]
    for finding in findings(changed):
        assert 0 <= finding.start <= finding.end <= len(changed)
        if finding.fix is not None:
            apply(finding.fix.edits, changed)


@settings(max_examples=40, deadline=None)
@given(text=st.sampled_from(TEXTS), cut=st.floats(0, 1))
def test_a_text_that_stops_anywhere_never_raises(text: str, cut: float):
    findings(text[: int(cut * len(text))])


MANY = "\n\n".join(TEXTS[:12])


@settings(max_examples=60, deadline=None)
@given(
    first=st.integers(0, MANY.count("\n")),
    count=st.integers(1, 5),
    at=st.floats(0, 1),
    typed=st.sampled_from("x(:\n\"'# "),
)
def test_the_findings_of_lines_are_those_of_the_file_on_them(first: int, count: int, at: float, typed: str):
    position = int(at * len(MANY))
    document = parse(MANY[:position] + typed + MANY[position:])
    kernels = find_kernels(document)
    lines = range(first, first + count)
    near = find_findings(document, kernels, CALLS, lines)
    every = find_findings(document, kernels, CALLS)
    assert set(near) <= set(every)
    assert {f for f in every if f.start_line < lines.stop and lines.start <= f.end_line} <= set(near)


UNMASKED = """import triton
import triton.language as tl

@triton.jit
def double(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs)
    tl.store(y_ptr + offs, x, mask=mask)
"""


def test_a_finding_says_where_and_how_to_mend_it():
    (finding,) = findings(UNMASKED)
    assert finding.code == "triton.unmasked-access"
    assert UNMASKED[finding.start : finding.end] == "tl.load(x_ptr + offs)"
    assert (finding.start_line, finding.start_column, finding.end_line, finding.end_column) == (7, 8, 7, 29)
    assert finding.kernel == "double"
    assert finding.fix.title == "Add mask=mask"
    assert "x = tl.load(x_ptr + offs, mask=mask, other=0.0)" in apply(finding.fix.edits, UNMASKED)


@pytest.mark.parametrize("prefix", ["# 核 für alle \U0001f600\n", 'TITLE = "größe"\n\n\n', "\n" * 40])
def test_places_count_code_points(prefix: str):
    text = prefix + UNMASKED.replace("x = tl", "ü, x = '核', tl")
    (finding,) = findings(text)
    line = text.split("\n")[finding.start_line]
    assert text[finding.start : finding.end] == "tl.load(x_ptr + offs)"
    assert line[finding.start_column : finding.end_column] == "tl.load(x_ptr + offs)"
    assert "tl.load(x_ptr + offs, mask=mask, other=0.0)" in apply(finding.fix.edits, text)


def test_windows_line_ends():
    text = UNMASKED.replace("\n", "\r\n")
    (finding,) = findings(text)
    assert text[finding.start : finding.end] == "tl.load(x_ptr + offs)"
    assert apply(finding.fix.edits, text).count("\r\n") == text.count("\r\n")


@pytest.mark.parametrize(
    "broken",
    ["def half(x, :\n    return", "class Half(\n", "x = (1,\n", "def half():\n    y = 'open\n", "@triton.jit\n"],
)
@pytest.mark.parametrize("first", [True, False])
def test_an_error_elsewhere_costs_no_finding(broken: str, first: bool):
    head, body = UNMASKED.split("@triton.jit")
    body = "@triton.jit" + body
    text = f"{head}{broken}\n\n{body}" if first else f"{head}{body}\n\n{broken}\n"
    assert [f.code for f in findings(text)] == ["triton.unmasked-access"]


def test_an_unfinished_line_costs_only_itself():
    text = UNMASKED.replace("    mask = offs < n\n", "    mask = offs < n\n    z = tl.load(x_ptr +\n")
    assert [f.code for f in findings(text)] == ["triton.unmasked-access"]


@pytest.mark.parametrize(
    "text", ["", "\n", "\0", "def", "@", "(" * 5000, "x = " + "-" * 3000 + "1", "\ufeffimport triton\n"]
)
def test_odd_texts(text: str):
    assert find_findings(parse(text)) == ()


def test_deeply_nested_kernels_do_not_run_out_of_stack():
    deep = UNMASKED.replace("x = tl.load(x_ptr + offs)", "x = " + "(" * 90 + "tl.load(x_ptr + offs)" + ")" * 90)
    assert [f.code for f in find_findings(parse(deep))] == ["triton.unmasked-access"]
    long = UNMASKED.replace("x = tl.load(x_ptr + offs)", "x = tl.load(x_ptr + offs" + " + 0" * 3000 + ")")
    assert {f.code for f in find_findings(parse(long))} <= {"triton.unmasked-access"}


def test_fifty_thousand_lines_in_seconds():
    kernel = UNMASKED[UNMASKED.index("@triton.jit") :]
    many = "".join(kernel.replace("double", f"double_{i}") + "\n" * 20 for i in range(1850))
    text = UNMASKED[: UNMASKED.index("@triton.jit")] + many
    assert text.count("\n") > 48_000
    start = time.perf_counter()
    assert len(findings(text)) == 1850
    assert time.perf_counter() - start < 60


def test_a_message_names_the_line_of_the_file():
    text = """import triton
import triton.language as tl

# a comment above

@triton.jit
def total(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + cols, mask=cols < n)
    tl.store(y_ptr, tl.sum(x, axis=0))
"""
    for above in ("", "\n" * 7):
        (finding,) = findings(above + text)
        assert f"tl.sum in line {10 + len(above)}:" in finding.message


COMPARED = """

def torch_attention(q, k, v):
    scores = torch.matmul(q, k.transpose(-2, -1))
    return torch.matmul(torch.softmax(scores, dim=-1), v)
"""


def test_what_kernels_are_compared_with_is_left_alone():
    imports = "import torch\n"
    assert [f.code for f in findings(imports + COMPARED)] == ["torch.attention"]
    assert [f.code for f in findings(imports + UNMASKED + COMPARED)] == ["triton.unmasked-access"]


def test_a_load_that_is_summed_up_in_a_loop_is_mended():
    text = """import triton
import triton.language as tl

@triton.jit
def total(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, n, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + cols, mask=cols < n)
        acc += x * x
    tl.store(y_ptr, tl.sum(acc, axis=0))
"""
    (finding,) = findings(text)
    assert finding.fix is not None
    assert findings(apply(finding.fix.edits, text)) == ()


def test_a_value_is_waited_for_once():
    text = "import torch\n\ndef bits(x: torch.Tensor):\n    return str(x.relu().cpu().numpy())\n"
    assert [f.message.split()[0] for f in findings(text)] == [".cpu()"]


def test_a_mask_is_taken_over_from_an_access_with_the_same_offsets_alone():
    text = """import triton, triton.language as tl

@triton.jit
def scaled(a_ptr, b_ptr, c_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    k = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    a_ptrs, b_ptrs = a_ptr + i, b_ptr + k
    mask = i < n
    a = tl.load(a_ptrs, mask=mask, other=0.0)
    b = tl.load(b_ptrs)
    tl.store(c_ptr + i, a * b, mask=mask)
"""
    (finding,) = findings(text)
    assert (finding.code, finding.fix) == ("triton.unmasked-access", None)
