"""Some planted faults through the gate with real workers, and others through the probe: a fast part of the benchmark."""

from collections.abc import Callable

import pytest
from benchmarks.mutants import trials
from benchmarks.mutants.baselines import Baseline, baselines, cuda_baselines, mutants_of
from benchmarks.mutants.grading import Ending, Outcome
from benchmarks.mutants.mutant import Mutant
from benchmarks.mutants.probing import probe

from kernelwright.proof.jobs import Limits

# (kernel, operator, the beginning of the description, the check that must end it, or "one or another")
SAMPLE = (
    ("triton_reverse_add", "dropped-mask", "dropped: mask=mask", "out-of-bounds"),
    ("triton_reverse_add", "dropped-term", "dropped: + row * n", "race"),
    ("triton_reverse_add", "in-place", "the output is written over x", "inputs-unchanged"),
    ("triton_layer_norm", "off-by-one-bound", "bound of a comparison", "values or nan-parity"),  # what lies behind x
    ("triton_layer_norm", "wrong-stride", "stride of axis 0", "values"),
    ("torch_router", "stale-cache", "the first result for each shape", "values"),
    ("torch_router", "wrong-axis", "another axis", "values"),
    ("torch_label_smoothing", "wrong-constant", "1.0 became 1.02", "values"),
    ("torch_label_smoothing", "dropped-mask", "masked_fill dropped", "values"),
    ("torch_group_norm", "wrong-reduction", "dropped: correction=0", "values"),
    ("torch_group_norm", "dropped-term", "dropped: - mean", "values"),
    ("torch_conv_norm", "wrong-dtype", "the output is float64", "dtype"),
    # What only one row, ties and maxima in other blocks, and Triton's compiler would show.
    ("torch_rotary", "early-exit", "zeros when there is one row", "values"),
    ("triton_argmax", "wrong-comparison", "> became >=", "values"),
    ("triton_cross_entropy", "dropped-max", "not taken into the maximum: largest", "nan-parity"),
    ("triton_attention", "lower-precision", "tl.float32 became tl.float16", "runs"),
)
# One in what each strategy for CUDA C++ makes of its example.
IN_CUDA = (
    ("coalesce-mapping", "wrong-index", "threadIdx.x became threadIdx.y", "nan-parity"),
    ("double-buffer", "missing-barrier", "dropped: __syncthreads();", "race"),
    ("fast-math", "wrong-extreme", "fmaxf became fminf", "nan-parity"),
    ("fuse-kernels", "wrong-pointer", "b became x", "values"),
    ("grid-stride", "short-loop", "n became n - ", "nan-parity"),
    ("launch-geometry", "short-grid", "the grid is rounded down", "nan-parity"),
    ("pad-shared", "swapped-subscripts", "threadIdx.x and threadIdx.y are swapped", "values"),
    ("parallel-rows", "wrong-shuffle", "0xffffffff became (0xffffffff >> 1)", "runs"),
    ("register-block", "divergent-barrier", "__syncthreads(); became if", "race"),
    ("restrict-const", "lost-sum", "+= became =", "values"),
    ("shared-tile", "little-shared", "TILE became (TILE + 1) / 2", "race"),
    ("tensor-core", "wrong-layout", "row_major became col_major", "values"),
    ("unroll", "off-by-one-bound", ">= became >", "out-of-bounds"),
    ("vectorise-access", "dropped-tail", "dropped: else", "nan-parity"),
    ("vectorise-access", "wrong-step", "++k became", "values"),
    ("warp-reduce", "late-barrier", "a barrier comes after: if (tid < 8)", "race"),
)


def chosen(subjects: dict[str, Baseline], kernel: str, operator: str, description: str) -> tuple[Baseline, Mutant]:
    mutants = mutants_of(subjects[kernel], None, 0)
    return subjects[kernel], next(
        m for m in mutants if m.operator == operator and m.description.startswith(description)
    )


@pytest.mark.parametrize(
    ("found", "control", "sample"),
    [(baselines, "torch_group_norm", SAMPLE), (cuda_baselines, "fast-math", IN_CUDA)],
    ids=["Python", "CUDA C++"],
)
async def test_the_gate_ends_each_fault_and_passes_the_baseline(
    found: Callable[[], tuple[Baseline, ...]], control: str, sample: tuple[tuple[str, str, str, str], ...]
) -> None:
    subjects = {subject.name: subject for subject in found()}
    pairs = [(subjects[control], trials.CONTROL)]
    pairs += [chosen(subjects, *row[:3]) for row in sample]
    heard: list[Outcome] = []
    device = await trials.grade(pairs, jobs=2, limits=Limits(threads=1, seeds=2), timeout=120, told=heard.append)
    assert device.kind in ("cpu", "cuda")
    ended = {(o.kernel, o.mutant): (o.ending, o.by) for o in heard}
    assert ended.pop((control, "control")) == (Ending.SURVIVED, "")
    expected = {(subject.name, m.id): row[3] for (subject, m), row in zip(pairs[1:], sample, strict=True)}
    assert ended.keys() == expected.keys()
    wrong = {
        key: end for key, end in ended.items() if end[0] != Ending.KILLED or end[1] not in expected[key].split(" or ")
    }
    assert not wrong


async def test_the_probe_sees_what_differs_and_only_that() -> None:
    subjects = {subject.name: subject for subject in baselines(("torch_quantise",))}
    baseline, mutant = chosen(subjects, "torch_quantise", "wrong-comparison", "> became >=")
    found = await probe(baseline, mutant, timeout=120)
    assert not found.failed
    assert {difference.case.partition(":")[0] for difference in found.differences} == {"zeros"}
    assert all(difference.material for difference in found.differences)
    same = await probe(baseline, Mutant("control", "control", 0, "", baseline.text + "\n# More.\n"), timeout=120)
    assert same.identical
    assert same.calls > 40


async def test_the_probe_calls_cuda() -> None:
    subjects = {subject.name: subject for subject in cuda_baselines(("grid-stride",))}
    found = await probe(
        *chosen(subjects, "grid-stride", "wrong-step", "blockDim.x * gridDim.x became 2 *"), timeout=120
    )
    assert found.calls > 40
    assert {difference.case for difference in found.material} >= {
        "normal: solve(image=randn(n), out=out(n), n=5003, angle=0.3)"
    }
    assert all("n=5003" in difference.case for difference in found.differences)
