"""What every language owes the server, asked of those that are registered and of a toy one that the tests bring."""

from pathlib import Path

import pytest

from kernelwright.languages import LANGUAGES, LanguageSupport, SyntaxProblem, absence, of_file, support_of
from kernelwright.steps import syntax_failure
from kernelwright.values import FailureKind, Kernel, Refusal, Workload, WorkloadSource
from languages import stub
from languages.samples import SAMPLES, Sample

EVERY = [*map(support_of, LANGUAGES), stub.SUPPORT]
each_language = pytest.mark.parametrize(
    ("support", "sample"), [pytest.param(support, SAMPLES[support.id], id=support.id) for support in EVERY]
)


def the_kernel(support: LanguageSupport, sample: Sample) -> Kernel:
    (kernel,) = support.kernels(sample.text)
    return kernel


@each_language
def test_outline(support: LanguageSupport, sample: Sample) -> None:
    kernel = the_kernel(support, sample)
    lines = sample.text.split("\n")
    assert (kernel.name, kernel.entry) == (sample.kernel, sample.entry)
    assert lines[kernel.name_line][kernel.name_column :].startswith(sample.kernel)
    assert kernel.start_line <= kernel.name_line < kernel.end_line <= len(lines)
    assert support.kernels(sample.text, range(kernel.name_line, kernel.name_line + 1)) == (kernel,)
    assert support.findings(sample.text, (kernel,)) == ()


@each_language
def test_the_place_that_does_not_parse(support: LanguageSupport, sample: Sample) -> None:
    assert support.syntax_problem(sample.text) is None
    assert syntax_failure(support, sample.text) is None
    problem = support.syntax_problem(sample.broken)
    failure = syntax_failure(support, sample.broken)
    assert isinstance(problem, SyntaxProblem)
    assert problem.line == sample.broken_line
    assert failure is not None
    assert (failure.kind, failure.line) == (FailureKind.COMPILE_FAILED, sample.broken_line)
    assert failure.message == f"The rewritten text does not parse: {problem.message}."


@each_language
def test_words_for_what_is_not_there(support: LanguageSupport, sample: Sample) -> None:
    kernels = support.kernels(sample.text)
    assert absence(support, sample.broken, ()).startswith(f"does not parse at line {sample.broken_line + 1}: ")
    assert absence(support, sample.text, kernels, "other") == f"has no kernel 'other'; it has {sample.kernel}."
    assert absence(support, "", ()) == support.no_kernel
    assert support.no_kernel.endswith(".")


@each_language
def test_the_workload_line(support: LanguageSupport, sample: Sample) -> None:
    found = support.workload(sample.text, sample.entry)
    assert isinstance(found, Workload)
    assert (found.source, found.entry) == (WorkloadSource.LINES, sample.entry)
    (case,) = found.cases
    assert sample.text.split("\n")[case.line] == f"{sample.comment} workload: {case.text}"
    assert case.column == len(f"{sample.comment} workload: ")
    assert support.workload_problems(sample.text) == ()


@each_language
def test_no_workload_line(support: LanguageSupport, sample: Sample) -> None:
    text = sample.text.replace(f"\n{sample.comment} workload", f"\n{sample.comment} nothing")
    refusal = support.workload(text, sample.entry)
    assert isinstance(refusal, Refusal)
    assert f"'{sample.comment} workload: {sample.entry}(" in refusal.reason


@each_language
def test_a_wrong_workload_line(support: LanguageSupport, sample: Sample) -> None:
    text = sample.text.replace(f"{sample.entry}(randn(", f"{sample.entry}(normal(")
    assert [case.text.startswith(f"{sample.entry}(normal(") for case in support.workload_lines(text)] == [True]
    (problem,) = support.workload_problems(text)
    assert text.split("\n")[problem.line][problem.column : problem.end_column] == "normal"
    assert isinstance(support.workload(text, sample.entry), Refusal)


@each_language
def test_lines_from_the_signature_are_workloads(support: LanguageSupport, sample: Sample) -> None:
    kernel = the_kernel(support, sample)
    lines = support.lines_from_signature(sample.text, kernel)
    assert isinstance(lines, tuple)
    assert lines
    for line in lines:
        assert line.startswith(f"{sample.comment} workload: {sample.entry}(")
        assert isinstance(support.workload(f"{line}\n{sample.text}", sample.entry), Workload)
        assert support.workload_problems(f"{line}\n{sample.text}") == ()


@each_language
def test_half_typed_texts_are_answered(support: LanguageSupport, sample: Sample) -> None:
    for end in range(len(sample.text)):
        text = sample.text[:end]
        for kernel in support.kernels(text):
            assert isinstance(support.workload(text, kernel.entry), Workload | Refusal)
            assert isinstance(support.lines_from_calls(text, kernel), tuple | Refusal)
        support.findings(text, support.kernels(text))
        support.workload_problems(text)
        assert isinstance(support.is_interpreted_without_gpu(text), bool)


def test_a_language_goes_by_its_id() -> None:
    assert [support_of(language_id).id for language_id in LANGUAGES] == [*LANGUAGES]
    assert [of_file(Path(f"k{suffix}")).id for row in LANGUAGES.values() for suffix in row.suffixes] == [
        "python",
        "cuda-cpp",
        "cuda-cpp",
    ]
    assert support_of("cuda") is support_of("cuda-cpp")  # what Neovim and Emacs call it


@pytest.mark.parametrize(
    ("support", "kind"),
    [
        (support_of("rust"), "rust"),
        (of_file(Path("saxpy.hip")), ".hip"),
        (of_file(Path("python")), "no suffix"),
    ],
)
def test_a_language_that_is_not_read(support: LanguageSupport, kind: str) -> None:
    text = SAMPLES["python"].text
    reason = (
        f"is of a kind that Kernelwright does not read ({kind}); choose a file in Python (.py) or CUDA C++ (.cu, .cuh)."
    )
    assert support.kernels(text) == support.findings(text, ()) == support.workload_problems(text) == ()
    assert absence(support, text, ()) == reason
    assert support.workload(text, "scale") == Refusal(f"This file {reason}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import torch, triton\n", True),
        ("import triton.language as tl\n", True),
        ("def f():\n    from triton import *\n", True),
        ("# without triton\nimport torch\n", False),
        ("from my_triton import f\nimport torch  # not triton\n", False),
    ],
)
def test_python_is_interpreted_where_it_imports_triton(text: str, expected: bool) -> None:
    assert support_of("python").is_interpreted_without_gpu(text) is expected
