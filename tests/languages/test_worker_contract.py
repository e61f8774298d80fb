"""What every language owes the worker, asked of those that it runs and of a toy one that the tests bring."""

import pytest
import torch

from kernelwright.languages import LANGUAGES as READ
from kernelwright.proof.jobs import Limits, Race, Trial
from kernelwright.proof.worker.bench import opened
from kernelwright.proof.worker.clock.performance import performance_here
from kernelwright.proof.worker.clock.race import run_race
from kernelwright.proof.worker.construct import targets_for
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.languages import LANGUAGES, WorkerLanguage, language_of
from kernelwright.values import Case, Failure, Timing, Workload, WorkloadSource
from languages import worker_stub
from languages.samples import SAMPLES, Sample

EVERY = [*LANGUAGES.values(), worker_stub.LANGUAGE]
LIMITS = Limits(timing_budget=0.05, threads=1)
each_language = pytest.mark.parametrize(
    ("language", "sample"), [pytest.param(language, SAMPLES[language.id], id=language.id) for language in EVERY]
)
each_untyped = pytest.mark.parametrize(
    ("language", "sample"),
    [pytest.param(one, SAMPLES[one.id], id=one.id) for one in EVERY if not SAMPLES[one.id].typed],
)


def workload(sample: Sample) -> Workload:
    return Workload(WorkloadSource.LINES, sample.entry, (Case(0, 0, sample.call),))


@each_language
def test_a_text_is_loaded_with_its_entry(language: WorkerLanguage, sample: Sample) -> None:
    module = language.load("/nowhere/text", sample.text, "subject")
    entry, ones, written = getattr(module, sample.entry), torch.ones(8), torch.zeros(8)
    answer = written if sample.typed and entry(ones, written, 8) == 0 else entry(ones)
    assert torch.equal(answer, torch.full((8,), 2.0))
    assert module.__file__
    language.unload(module)


@each_language
def test_a_text_that_does_not_load_says_where(language: WorkerLanguage, sample: Sample) -> None:
    with pytest.raises(JobFailed) as failed:
        language.load("/nowhere/text", sample.broken, "subject")
    assert failed.value.failure.line == sample.broken_line


@each_untyped
def test_the_fp64_twin(language: WorkerLanguage, sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LANGUAGES, language.id, language)
    assert language.widened(sample.text) is None
    texts = (sample.cast, sample.cast, sample.cast)
    with opened(Trial("/nowhere/text", *texts, workload(sample), limits=LIMITS, language=language.id)) as bench:
        targets = targets_for(bench, performance_here(bench))
        given = torch.full((8,), 1 / 3, dtype=torch.float64)
        assert targets.baseline(given).dtype is torch.float32
        assert torch.equal(targets.double(given), given * 2)


@each_language
def test_kernels_are_known_by_their_names(language: WorkerLanguage, sample: Sample) -> None:
    known = language.known("/nowhere/text", sample.text)
    assert known.triton | known.cuda | known.cute == set(language.kernels(sample.text))
    assert language.texts("/nowhere/text", sample.text)[0] == sample.text
    assert all(source in sample.text for source in language.kernels(sample.text).values())


@each_language
def test_a_race_of_variants(language: WorkerLanguage, sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LANGUAGES, language.id, language)
    variants = (sample.text, sample.other, sample.broken)
    job = Race("/nowhere/text", sample.text, variants, workload(sample), LIMITS, language.id)
    timings = run_race(job, lambda stage: None).timings
    assert [type(timing) for timing in timings] == [Timing, Failure, Failure]


@each_language
def test_half_typed_texts_are_answered(language: WorkerLanguage, sample: Sample) -> None:
    for end in range(len(sample.text)):
        text = sample.text[:end]
        assert sample.typed or language.widened(text) is None
        assert {*language.kernels(text)} <= {sample.kernel}
        has_kernels = sample.typed and bool(language.kernels(text))
        assert language.is_interpreted_without_gpu(text) is (sample.typed and "__global__" in text)
        assert language.compiles(text) is language.needs_triton(text) is False
        for asked in (
            language.shows_kernels_to_interpret,
            language.may_read_by_number,
            language.may_break_the_context,
        ):
            assert asked(text) is has_kernels
        assert language.precision_advice(text, sample.text) == ""


def test_a_language_goes_by_its_id() -> None:
    assert [language_of(language_id).id for language_id in LANGUAGES] == [*LANGUAGES]
    assert READ.keys() == LANGUAGES.keys()  # what the server reads, the worker runs


def test_a_language_that_is_not_run() -> None:
    with pytest.raises(JobFailed, match="Texts in 'rust' cannot be run: only those in python, cuda-cpp can"):
        language_of("rust")


TRITON = "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef k(x):\n    tl.dot(x, x)\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (TRITON, (True, True, False, True, True, True)),
        ("from triton.language import dot\n", (True, False, False, True, True, False)),
        ("import torch\nf = torch.compile(torch.sin)\n", (False, False, True, True, False, False)),
        ("import torch  # import triton\n", (False, False, False, False, False, False)),
    ],
)
def test_what_a_python_text_brings_into_play(text: str, expected: tuple[bool, ...]) -> None:
    python = language_of("python")
    found = (
        python.is_interpreted_without_gpu(text),
        python.shows_kernels_to_interpret(text),
        python.compiles(text),
        python.needs_triton(text),
        python.may_read_by_number(text),
        python.may_break_the_context(text),
    )
    assert found == expected


def test_a_dot_that_is_less_precise_is_told() -> None:
    python = language_of("python")
    assert python.precision_advice(TRITON, "import torch\n").startswith("tl.dot rounds float32 to TF32")
    assert python.precision_advice(TRITON, TRITON) == ""
    assert python.precision_advice(TRITON.replace("x, x", 'x, x, input_precision="ieee"'), "import torch\n") == ""
