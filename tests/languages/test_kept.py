"""Lines of the journal count as lines of the text do, and nothing of the text moves."""

import pytest

from cli.terminal import COPY
from kernelwright import recording
from kernelwright.languages.cuda import SUPPORT as CUDA
from kernelwright.languages.kept import kept_by, with_kept, written
from kernelwright.languages.python import SUPPORT as PYTHON
from kernelwright.values import Refusal, Workload, WorkloadSource, apply
from source.findings.snippets_tuning import WRONG

WITHOUT = COPY.split("\n\n# workload")[0] + "\n"
LINES = (("copy", ("copy(randn(64))", "copy(randn(7))")),)
TEMPLATE = """\
template <int EACH> __global__ void fill(float* y, int n) {
    int i = (blockIdx.x * blockDim.x + threadIdx.x) * EACH;
    if (i < n) y[i] = 2.0f;
}
"""


def test_a_line_of_the_journal_is_the_workload_and_says_so() -> None:
    assert isinstance(PYTHON.workload(WITHOUT, "copy"), Refusal)
    found = with_kept(PYTHON, LINES).workload(WITHOUT, "copy")
    assert isinstance(found, Workload)
    assert found.source is WorkloadSource.JOURNAL
    assert [case.text for case in found.cases] == ["copy(randn(64))", "copy(randn(7))"]
    assert found.told == "copy(randn(64)) (lines in the journal)"


def test_a_line_of_the_text_wins_even_if_it_is_wrong() -> None:
    kept = with_kept(PYTHON, LINES)
    found = kept.workload(COPY, "copy")
    assert isinstance(found, Workload)
    assert found.source is WorkloadSource.LINES
    assert found.told == "copy(randn(1000))"
    wrong = COPY.replace("randn(1000)", "normal(1000)")
    assert kept.workload(wrong, "copy") == PYTHON.workload(wrong, "copy")
    assert written(kept, COPY) == COPY
    assert recording.lines_for(COPY, ["copy(randn(3))"]) == ()
    assert recording.lines_for(WITHOUT, ["copy(randn(3))", "copy(randn(3))"]) == (("copy", ("copy(randn(3))",)),)


def test_a_kernel_that_nothing_launches_is_called_by_its_own_line() -> None:
    alone = WITHOUT.split("\n\ndef copy(")[0] + "\n"
    kept = with_kept(PYTHON, (("copy_kernel", ("copy_kernel[(1,)](randn(64), out(64), 64, BLOCK=64)",)),))
    (bare,), (called,) = PYTHON.kernels(alone), kept.kernels(alone)
    assert (bare.entry, called.entry) == (None, "copy_kernel")
    assert (bare.start_line, bare.end_line, bare.name_line) == (called.start_line, called.end_line, called.name_line)
    assert isinstance(kept.workload(alone, called.entry), Workload)
    assert kept.unit(alone, called).run == alone


def test_findings_know_the_sizes_and_their_fixes_are_of_the_text() -> None:
    (text, *_) = WRONG["triton.wide-offset"]
    line = next(one for one in text.split("\n") if one.startswith("# workload: "))
    text = text.replace(line, "")
    kept = with_kept(PYTHON, (("clear", (line.removeprefix("# workload: "),)),))
    found = kept.findings(text, kept.kernels(text))
    new = [one for one in found if one not in PYTHON.findings(text, PYTHON.kernels(text))]
    assert [one.code for one in new] == ["triton.wide-offset"]
    assert text[new[0].start : new[0].end].endswith(".to(tl.int64)")
    (retunes, *_) = WRONG["triton.autotune-retunes"]
    fixes = [
        one.fix for one in with_kept(PYTHON, LINES).findings(retunes, PYTHON.kernels(retunes)) if one.fix is not None
    ]
    assert [apply(fix.edits, retunes) != retunes for fix in fixes] == [True]


def test_a_template_is_compiled_for_what_the_lines_give() -> None:
    (kernel,) = CUDA.kernels(TEMPLATE)
    kept = with_kept(CUDA, (("fill", ("fill<4><<<1, 64>>>(y=out(n), n=64)",)),))
    unit = kept.unit(TEMPLATE, kernel)
    assert unit.text == TEMPLATE
    assert unit.run.rstrip().endswith("// workload: fill<4><<<1, 64>>>(y=out(n), n=64)")
    plain = with_kept(CUDA, (("fill", ("fill<<<1, 64>>>(y=out(n), n=64)",)),))
    assert plain.unit(TEMPLATE, kernel).run == CUDA.unit(TEMPLATE, kernel).run


@pytest.mark.parametrize("line", ["other(randn(3))", "copy(randn(3))\nimport os", "copy", ""])
def test_what_is_no_line_of_its_entry_is_left_out(line: str) -> None:
    kept = with_kept(PYTHON, (("copy", (line,)),))
    assert written(kept, WITHOUT) == WITHOUT
    assert isinstance(kept.workload(WITHOUT, "copy"), Refusal)


def test_a_language_has_only_the_lines_that_it_was_given_last() -> None:
    kept = with_kept(PYTHON, LINES)
    assert kept_by(with_kept(kept, LINES[:0])) == ()
    assert kept_by(with_kept(kept, (("f", ("f()",)),))) == (("f", ("f()",)),)
    assert with_kept(PYTHON, ()) is PYTHON
    assert kept == with_kept(PYTHON, LINES)


def test_kept_lines_are_written_above_what_they_call() -> None:
    edits = recording.edits_of_kept(WITHOUT, LINES)
    lines = "# workload: copy(randn(64))\n# workload: copy(randn(7))\n"
    assert apply(edits, WITHOUT) == WITHOUT.replace("def copy(", f"{lines}def copy(")
