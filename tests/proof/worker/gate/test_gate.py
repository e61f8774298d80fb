"""The gate on functions: honest rewrites pass, and each way of being wrong is ended by the check that names it."""

import pytest

from kernelwright.proof.worker.failed import JobFailed
from kernelwright.values import FailureKind, VerdictStatus
from proof.worker.trials import ended_by, trial

HEAD = "import torch\n"
SOFTMAX = HEAD + "def f(x):\n    return torch.softmax(x, 1)\n"
ROWS = "f(randn(48, 65))"


def returning(expression: str, before: str = "pass") -> str:
    return HEAD + f"def f(x):\n    {before}\n    return {expression}\n"


@pytest.mark.parametrize(
    "candidate",
    [
        returning("e / e.sum(1, keepdim=True)", "e = torch.exp(x - x.amax(1, keepdim=True))"),
        returning("torch.exp(torch.log_softmax(x, 1))"),
        returning("out", "out = torch.empty_like(x); torch.softmax(x, 1, out=out)"),
        returning("torch.softmax(x.double(), 1).float()"),
        "try:\n    import nothing_like_this\nexcept ImportError:\n    pass\n" + SOFTMAX,
    ],
)
def test_an_honest_rewrite_passes(candidate: str) -> None:
    verdict = trial(SOFTMAX, candidate, ROWS).verdict
    assert verdict.status is VerdictStatus.PASSED, verdict.reason
    assert verdict.max_error < 1e-5
    assert verdict.baseline_error is not None
    assert verdict.how == "on the CPU"
    cases = {check.case for check in verdict.checks if check.name == "values"}
    assert {f"{ROWS}, seed 0", f"{ROWS}, seed 1", "f(randn(7, 65)), seed 2", "f(randn(48, 7)), seed 2"} <= cases
    assert any("x -1" in case for case in cases)


@pytest.mark.parametrize(
    ("candidate", "check"),
    [
        (returning("torch.softmax(x, 0)"), "values"),
        (returning("torch.softmax(x.half(), 1).float()"), "accuracy"),
        (returning("torch.softmax(x.bfloat16().float(), 1)"), "accuracy"),
        (returning("torch.full_like(x, 1 / x.shape[1])"), "values"),
        (returning("torch.zeros_like(x)"), "values"),
        (returning("x.exp() / x.exp().sum(1, keepdim=True)"), "nan-parity"),
        (returning("torch.softmax(x, 1)", "x += 1"), "inputs-unchanged"),
        (returning("x.zero_()"), "inputs-unchanged"),
        (returning("torch.softmax(x, 1).double()"), "dtype"),
        (returning("torch.softmax(x, 1)[:, None]"), "shape"),
        (returning("torch.softmax(x.t(), 0).t()"), "layout"),
        (returning("(torch.softmax(x, 1),)"), "structure"),
        (returning("None"), "structure"),
        (returning("torch.softmax(x, 1).to('meta')"), "structure"),
        (returning("x.missing()"), "runs"),
        (returning("torch.softmax(x, 1)", "assert x.shape == (48, 65)"), "runs"),
        (returning("torch.softmax(x, 1)", "raise SystemExit(0)"), "runs"),
        ("def f(x:\n", "runs"),
        (SOFTMAX + "torch.set_default_dtype(torch.float64)\n", "settings"),
        (SOFTMAX + "torch.backends.cuda.matmul.allow_tf32 = True\n", "settings"),
    ],
)
def test_a_wrong_rewrite_is_ended_by(candidate: str, check: str) -> None:
    assert ended_by(SOFTMAX, candidate, ROWS) == check


def test_uninitialised_memory_is_seen_even_when_it_held_the_answer() -> None:
    # On a fresh page torch.empty is zero, which is the right answer for the elements that are left out.
    baseline = returning("torch.relu(x - 100)")
    candidate = returning("out", "out = torch.empty_like(x); out[:, :1] = torch.relu(x[:, :1] - 100)")
    assert ended_by(baseline, candidate, "f(randn(512, 1024))") in ("nan-poison", "nan-parity", "values")
    first = next(check for check in trial(baseline, baseline, ROWS).verdict.checks if check.name == "values")
    assert "zeros would pass" in first.detail


@pytest.mark.parametrize("words", ["# torch.compile", "if not torch:\n    f = torch.compile(f)"])
def test_memory_is_poisoned_where_the_compiler_is_but_named(words: str) -> None:
    verdict = trial(SOFTMAX, SOFTMAX + words + "\n", ROWS).verdict
    assert "nan-poison" in {check.name for check in verdict.checks}


@pytest.mark.parametrize(
    ("candidate", "check"),
    [
        (
            HEAD
            + "kept = {}\ndef f(x):\n    if 'y' not in kept: kept['y'] = torch.softmax(x, 1)\n    return kept['y']\n",
            "values",
        ),
        (
            HEAD + "kept = {}\ndef f(x):\n    out = kept.setdefault(x.shape, torch.empty_like(x))\n"
            "    out.copy_(torch.softmax(x, 1))\n    return out\n",
            "alias",
        ),
    ],
)
def test_what_is_kept_between_calls(candidate: str, check: str) -> None:
    assert ended_by(SOFTMAX, candidate, ROWS) == check


def test_an_output_that_is_the_input() -> None:
    baseline = returning("x.clone()")
    assert ended_by(baseline, returning("x"), ROWS) == "alias"
    assert ended_by(returning("x.t()"), returning("x.t()"), ROWS) == "passed"
    assert ended_by(returning("x.t()"), returning("x.t().contiguous()"), ROWS) == "passed"


@pytest.mark.parametrize(
    ("baseline", "candidate", "expected"),
    [
        ("-(x + 1)", "torch._neg_view(x + 1)", "structure"),
        ("-(x + 1)", "torch._neg_view(x + 1).resolve_neg()", "passed"),
        ("torch.complex(x, -x)", "torch.complex(x, x).conj()", "structure"),
        ("torch.complex(x, x).conj()", "torch.complex(x, x).conj()", "passed"),
        ("torch.complex(x, x).conj()", "torch.complex(x, -x)", "passed"),
        ("torch._neg_view(x)", "torch._neg_view(x)", "passed"),
        ("torch._neg_view(x + 1)", "-(x + 1)", "passed"),
    ],
)
def test_what_is_left_to_whoever_reads_it(baseline: str, candidate: str, expected: str) -> None:
    assert ended_by(returning(baseline), returning(candidate), ROWS) == expected


def test_in_place_by_design() -> None:
    baseline = returning("x.mul_(2).add_(1)")
    assert ended_by(baseline, returning("x.copy_(2 * x + 1)"), ROWS) == "passed"
    assert ended_by(baseline, returning("2 * x + 1"), ROWS) == "inputs-unchanged"


def test_written_arguments_are_compared() -> None:
    case = "add(x=randn(300), y=randn(300), z=out(300))"
    good = "def add(x, y, z):\n    z.copy_(x + y)\n"
    assert ended_by(good, "def add(x, y, z):\n    z.copy_(y).add_(x)\n", case) == "passed"
    assert ended_by(good, "def add(x, y, z):\n    z[:256].copy_((x + y)[:256])\n", case) == "nan-parity"
    assert ended_by(good, "def add(x, y, z):\n    z.copy_(x - y)\n", case) == "values"


@pytest.mark.parametrize(
    ("baseline", "candidate", "expected"),
    [
        ("x.argmax(1)", "torch.max(x, 1).indices", "passed"),
        ("x.argmax(1)", "x.argmin(1)", "values"),
        ("x > 0", "~(x <= 0)", "passed"),
        ("x > 0", "x > 0.001", "values"),
        ("{'a': x + 1, 'b': (None, 3)}", "{'a': 1 + x, 'b': (None, 3)}", "passed"),
        ("{'a': x + 1, 'b': (None, 3)}", "{'a': 1 + x, 'b': (None, 4)}", "values"),
        ("{'a': x + 1}", "{'b': x + 1}", "structure"),
        ("torch.log(x)", "x.log()", "passed"),
        ("torch.log(x)", "torch.log(x.abs())", "nan-parity"),
        ("torch.log(x)", "torch.log(x).nan_to_num()", "nan-parity"),
        ("x.new_empty(0)", "x.new_zeros(0)", "passed"),
        ("x.sum()", "x.double().sum().float()", "passed"),
        ("x.sum(1)", "x.flip(1).cumsum(1)[:, -1].contiguous()", "passed"),
        ("torch.nn.functional.gelu(x)", "torch.nn.functional.gelu(x, approximate='tanh')", "accuracy"),
        ("x.var(1)", "(x * x).mean(1) - x.mean(1) ** 2", "values"),
        ("torch.fft.rfft(x)", "torch.fft.fft(x)[:, : x.shape[1] // 2 + 1].contiguous()", "passed"),
        ("x.to_sparse().to_dense()", "x.clone()", "passed"),
    ],
)
def test_outputs_of_every_kind(baseline: str, candidate: str, expected: str) -> None:
    assert ended_by(returning(baseline), returning(candidate), ROWS) == expected


def test_half_precision_is_judged_by_its_own_rounding() -> None:
    baseline = HEAD + "def f(a, b):\n    return a @ b\n"
    fused = HEAD + "def f(a, b):\n    return (a.float() @ b.float()).half()\n"
    narrow = HEAD + "def f(a, b):\n    return sum((a[:, k:k+1] * b[k:k+1]) for k in range(a.shape[1]))\n"
    case = "f(randn(32, 384, dtype=float16), randn(384, 40, dtype=float16))"
    assert ended_by(baseline, fused, case) == "passed"
    assert ended_by(baseline, narrow, case) == "values"


def test_roundings_that_cancel_in_a_mean_over_many_rows_are_seen_where_few_terms_are_summed() -> None:
    loss = HEAD + (
        "def f(x, t):\n    m = x.max(1, keepdim=True).values\n    e = torch.exp(x - m)\n"
        "    return (m[:, 0] + torch.log(e.sum(1)) - x.gather(1, t[:, None])[:, 0]).mean()\n"
    )
    coarse = loss.replace("torch.exp(x - m)", "torch.exp(x - m).bfloat16().float()")
    verdict = trial(loss, coarse, "f(randn(1024, 2000), randint(0, 2000, 1024))").verdict
    assert [(c.name, c.case) for c in verdict.failed_checks] == [
        ("values", "f(randn(1, 62), randint(0, 62, 1)), seed 2")
    ]
    assert "so in 1 runs" in verdict.reason, "in all others it is as accurate"


def test_only_the_sizes_of_the_workload() -> None:
    block = returning("torch.softmax(x[:, :64], 1) if x.shape[1] == 64 else torch.softmax(x, 1)[:, :64]")
    assert ended_by(SOFTMAX, block, "f(randn(32, 64))") == "shape"


def test_every_workload_line_counts() -> None:
    candidate = returning("torch.softmax(x, 1) if x.dtype == torch.float32 else x")
    assert ended_by(SOFTMAX, candidate, ROWS) == "passed"
    assert ended_by(SOFTMAX, candidate, ROWS, "f(randn(16, 33, dtype=float64))") in ("values", "alias")


def test_a_baseline_that_is_random_is_not_checkable() -> None:
    own = HEAD + "g = torch.Generator()\ndef f(x):\n    return x + torch.rand(x.shape, generator=g)\n"
    verdict = trial(own, own, ROWS).verdict
    assert verdict.status is VerdictStatus.NOT_CHECKABLE
    assert "does not repeat itself" in verdict.reason


def test_dropout_draws_the_same_numbers() -> None:
    baseline = returning("torch.dropout(x, 0.5, True) * 2")
    assert ended_by(baseline, returning("2 * torch.dropout(x, 0.5, True)"), ROWS) == "passed"
    assert ended_by(baseline, returning("2 * torch.dropout(x, 0.4, True)"), ROWS) == "values"


@pytest.mark.parametrize(
    ("baseline", "case", "kind", "words"),
    [
        (returning("x.softmax(5)"), ROWS, FailureKind.WORKLOAD_FAILED, "fails on its own workload"),
        (SOFTMAX, "g(randn(3))", FailureKind.WORKLOAD_FAILED, "no function or class named g"),
        (SOFTMAX, "f(randn(3", FailureKind.WORKLOAD_FAILED, "workload line"),
        ("import nothing_like_this\n", ROWS, FailureKind.MISSING_PACKAGE, "nothing_like_this"),
    ],
)
def test_the_faults_of_the_baseline_are_failures(baseline: str, case: str, kind: FailureKind, words: str) -> None:
    with pytest.raises(JobFailed) as failed:
        trial(baseline, SOFTMAX, case)
    assert failed.value.failure.kind is kind
    assert words in failed.value.failure.message


def test_the_line_of_an_exception_is_named() -> None:
    check = trial(SOFTMAX, returning("x", "x.missing()"), ROWS).verdict.failed_checks[0]
    assert "at line 3" in check.detail
    assert "AttributeError" in check.detail


def test_what_a_rounding_of_float64_leaves_is_held_against_nobody() -> None:
    variance, case = returning("x.var(1)"), "f(randn(96, 300, dtype=float64))"
    by_hand = returning("(x - x.mean(1, keepdim=True)).square().sum(1) / (x.shape[1] - 1)")
    assert ended_by(variance, by_hand, case) == "passed"
    assert ended_by(variance, returning("x.var(1) + (x[:, 0] == x[:, -1]) * 1e-3"), case) == "values"
    assert ended_by(returning("x * 0"), returning("x * 1e-30"), case) == "values"
    for wrong in ("x.var(1, correction=0)", "x.float().var(1).double()"):
        assert ended_by(variance, returning(wrong), case) in ("values", "accuracy")
