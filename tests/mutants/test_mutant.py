"""Generating and drawing mutants: the same in, the same out."""

from benchmarks.mutants.baselines import baselines, mutants_of, smaller
from benchmarks.mutants.mutant import difference, generate, sample
from benchmarks.mutants.operators import OPERATORS
from benchmarks.mutants.probe_lines import LINES

TEXT = "import torch\n\n\ndef f(x):\n    y = x.sum(1, keepdim=True)\n    return x / y - 0.5\n"


def test_the_same_text_gives_the_same_mutants_each_once() -> None:
    first, second = generate(TEXT, OPERATORS), generate(TEXT, OPERATORS)
    assert first == second
    assert len({mutant.text for mutant in first}) == len({mutant.id for mutant in first}) == len(first) > 15
    assert all(mutant.text != TEXT for mutant in first)


def test_an_id_survives_a_change_elsewhere_on_later_lines() -> None:
    ids = {mutant.id for mutant in generate(TEXT, OPERATORS)}
    assert ids <= {mutant.id for mutant in generate(TEXT + "\n\ndef g(x):\n    return x - 1\n", OPERATORS)}


def test_a_sample_keeps_every_operator_and_is_drawn_by_its_seed() -> None:
    whole = generate(TEXT, OPERATORS)
    drawn = sample(whole, 1, seed=3)
    assert [m.operator for m in drawn] == sorted({m.operator for m in whole})
    assert drawn == sample(whole, 1, seed=3)
    assert any(drawn != sample(whole, 1, seed=other) for other in range(10))
    assert sample(whole, 100, seed=0) == whole


def test_a_difference_names_the_lines_that_changed() -> None:
    assert difference("a\nb\nc", "a\nB\nc") == (1, ["b"], ["B"])
    assert difference("a\nb", "a\nnew\nb") == (1, [], ["new"])
    assert difference("a\na\na", "a\na") == (2, ["a"], [])


def test_the_corpus_gives_more_than_500_faults_in_both_languages() -> None:
    subjects = baselines()
    counts = {subject.name: len(mutants_of(subject, None, 0)) for subject in subjects}
    assert sum(counts.values()) > 500
    assert min(counts.values()) > 10
    languages = [subject.language for subject in subjects]
    assert min(languages.count("Triton"), languages.count("PyTorch")) >= 10
    assert {subject.name for subject in subjects} == set(LINES)


def test_sizes_are_halved_for_a_cpu_and_the_text_is_not() -> None:
    norm, triton = baselines(("rms_norm", "triton_softmax"))
    cases = [case.text for case in smaller(norm, 1 << 17).workload.cases]
    assert cases == ["RMSNorm(1024)(randn(128, 1024))", "RMSNorm(781)(randn(127, 781))", "RMSNorm(64)(randn(3, 5, 64))"]
    assert smaller(norm, 1 << 17).text == norm.text
    assert smaller(norm, 1 << 30) == norm
    assert smaller(triton, 1 << 17) == triton
