"""A promise of a kernel is kept by a kernel that does what is gone from a library's work."""

import pytest

from kernelwright.macro.strategies import registry
from kernelwright.proof.jobs import Trial
from kernelwright.proof.worker.attribution.promise import broken_promise, share_of
from kernelwright.proof.worker.hosts.outside import Outside
from kernelwright.proof.worker.languages import language_of
from kernelwright.proof.worker.profiling.work import Part, Work
from kernelwright.values import Origin, ProfiledOn
from proof.worker.trials import workload

EAGER = "import torch\n\n\ndef f(x):\n    return torch.softmax(2 * x, 1)\n"
KERNEL = "import triton\n\n\n@triton.jit\ndef fused(x):\n    pass\n"
OTHER = KERNEL.replace("pass", "return")
CUDA = 'SOURCE = """__global__ void fused(float* x) { x[0] = 1; }"""\n'

GEMM = ("aten::addmm", 900.0)
SOFTMAX = ("aten::_softmax", 60.0)
SCALE = ("aten::mul", 40.0)


def work(
    *library: tuple[str, float], own: dict[str, float] | None = None, compiled: dict[str, float] | None = None
) -> Work:
    """A call on a GPU: times in microseconds, one run of each."""
    parts = [Part(name, Origin.LIBRARY, 1, time) for name, time in library]
    parts += [Part(name, Origin.HAND_WRITTEN, 1, time) for name, time in (own or {}).items()]
    parts += [Part(name, Origin.COMPILED, 1, time) for name, time in (compiled or {}).items()]
    return Work(ProfiledOn.GPU, tuple(parts))


def check(
    before: Work,
    after: Work,
    expected: str = "",
    *,
    text: str = KERNEL,
    previous: str = "",
    outside: Outside | None = None,
):
    """`expected` is in the sentence; "" where the promise is kept."""
    said = broken_promise(
        Trial("kernel.py", EAGER, previous or EAGER, text, workload("f(randn(4, 4))")),
        before,
        after,
        outside or Outside(),
    )
    if expected:
        assert expected in str(said)
    else:
        assert said is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (work(SCALE, SOFTMAX), work(own={"fused": 30.0})),
        (work(GEMM, SCALE, SOFTMAX), work(GEMM, own={"fused": 30.0})),  # an epilogue behind a retained product
        (work(GEMM, SCALE, SOFTMAX), work(("aten::mm", 890.0), own={"fused": 30.0})),  # its bias in the kernel
        (work(GEMM, SCALE, SOFTMAX), work(GEMM, SOFTMAX, own={"fused": 20.0})),  # a part of the run
        (work(GEMM, ("aten::mul", 8.0)), work(GEMM, own={"fused": 2.0})),  # little time beside the product
        (work(("aten::copy_", 50.0)), work(own={"transposing": 30.0})),  # a conversion of the layout
        (work(SOFTMAX), work(("aten::copy_", 30.0), own={"fused": 10.0})),  # made contiguous first
        (work(("aten::sum", 90.0)), work(("aten::add", 1.0), own={"partial": 40.0})),  # the last step in torch
        (work(own={"fused": 30.0}), work(own={"fused": 20.0})),  # a kernel that is tuned
        (work(GEMM, own={"fused": 30.0}), work(GEMM, own={"first": 10.0, "second": 5.0})),
        (work(), work(own={"fused": 1.0})),
    ],
)
def test_a_kept_promise(before: Work, after: Work) -> None:
    check(before, after)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (
            work(SOFTMAX),
            work(SOFTMAX),
            "its kernel fused is never launched: the library does the work (aten::_softmax)",
        ),
        (work(own={"fused": 50.0}), work(SOFTMAX), "never launched"),
        (work(SOFTMAX), work(SOFTMAX, own={"fused": 50.0}), "its kernel fused replaces nothing"),
        (
            work(SCALE, SOFTMAX),
            work(("aten::_log_softmax", 60.0), own={"fused": 50.0}),
            "calls aten::_log_softmax, which",
        ),
        (
            work(own={"fused": 50.0}),
            work(SOFTMAX, own={"fused": 50.0}),
            "beside its kernel fused it calls aten::_softmax",
        ),
        # Five operators by hand become the library's own one, and a copy.
        (
            work(*((f"aten::{n}", 20.0) for n in "abcde")),
            work(("aten::gelu", 20.0), own={"fused": 20.0}),
            "calls aten::gelu",
        ),
        (
            work(SCALE, ("aten::div", 900.0)),
            work(SCALE, own={"fused": 1.5}),
            "does next to nothing beside what is gone",
        ),
        (
            work(SOFTMAX),
            work(own={"fused": 9.0}, compiled={"triton_per_fused": 50.0}),
            "torch.compile's kernels do the work",
        ),
        (work(SOFTMAX), work(), "nothing that can be seen does the work"),
    ],
)
def test_a_broken_promise(before: Work, after: Work, expected: str) -> None:
    check(before, after, expected)


def test_who_else_may_not_do_the_work() -> None:
    before, after = work(SOFTMAX), work(own={"fused": 50.0})
    check(before, after, "another process works during the call (python3)", outside=Outside(helpers=("python3",)))
    check(before, after, "machine code that its text does not show (x.so)", outside=Outside(binaries=("x.so",)))
    for line in ("f = torch.compile(f)", "from torch import compile", "from torch._inductor import config"):
        check(
            before,
            after,
            "hands the work to torch.compile beside its own kernel fused",
            text=f"{KERNEL}import torch\n{line}\n",
        )
    check(before, after, text=f"{KERNEL}# no torch.compile\nimport re\nre.compile('x')\n")
    check(
        before,
        after,
        text=f"{KERNEL}import torch\nf = torch.compile(f)\n",
        previous="import torch\nf = torch.compile(f)\n",
    )


def test_a_kernel_that_raises_is_told_with_its_error() -> None:
    after = Work(ProfiledOn.GPU, (Part("aten::_softmax", Origin.LIBRARY, 1, 9.0),), "fused raises ValueError: no")
    check(
        work(SOFTMAX),
        after,
        "fused raises ValueError: no, and what catches that lets the library do the work (aten::_soft",
    )


def test_a_later_step_must_bring_a_kernel_of_its_own() -> None:
    before, after = work(SCALE, SOFTMAX), work(("aten::sigmoid", 5.0), own={"fused": 50.0})
    check(before, after, "it brings no new kernel, and calls aten::sigmoid", previous=KERNEL)
    check(before, after, previous=OTHER)
    check(before, after, "it brings no new kernel", text=CUDA, previous=CUDA)
    check(before, after, text=CUDA, previous=CUDA.replace("= 1", "= 2"))


def test_counts_decide_where_no_time_was_measured() -> None:
    def counted(*parts: tuple[str, Origin, float]) -> Work:
        return Work(ProfiledOn.INTERPRETER, tuple(Part(n, o, 1, size) for n, o, size in parts), untimed="not measured")

    library, own = Origin.LIBRARY, Origin.HAND_WRITTEN
    before = counted(("kernel", own, 320.0))
    check(before, counted(("kernel", own, 320.0), ("aten::_softmax", library, 320.0)), "calls aten::_softmax")
    check(before, counted(("kernel", own, 320.0), ("aten::sum", library, 20.0)))
    check(counted(("aten::_softmax", library, 320.0)), counted(("kernel", own, 320.0)))


def test_cpp_code_on_a_cpu_cannot_be_seen() -> None:
    after = Work(ProfiledOn.CPU, (Part("aten::empty", Origin.LIBRARY, 1, 2.0),))
    check(work(SOFTMAX), after, outside=Outside(extension=True))
    assert share_of(after, Outside(extension=True)).unknown == "not measured: C++ code on a CPU"


def test_the_share_is_of_all_that_took_time() -> None:
    share = share_of(work(GEMM, ("aten::copy_", 70.0), ("aten::view", 0.0), own={"fused": 30.0}), Outside())
    assert (share.hand_written, share.compiled) == (pytest.approx(0.03), 0.0)
    assert (share.kernels, share.others) == (("fused",), ("aten::addmm", "aten::copy_"))
    assert share_of(work(own={"fused": 1.0}), Outside(("python3",), ("x.so",))).elsewhere == "process python3, x.so"


def test_every_strategy_that_promises_a_kernel_shows_one_in_its_example() -> None:
    promising = [strategy for strategy in registry().values() if strategy.promises_kernel]
    assert {"torch.fuse-pointwise", "torch.fuse-row-reduction"} <= {strategy.id for strategy in promising}
    assert all(language_of("python").kernels(strategy.example.after) for strategy in promising)
