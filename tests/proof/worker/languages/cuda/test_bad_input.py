"""What is wrong with a CUDA file before a kernel runs is told in one sentence; what is only unusual is no hindrance."""

from pathlib import Path

import pytest
import torch

from kernelwright.proof.worker.failed import JobFailed
from kernelwright.proof.worker.languages.cuda import LANGUAGE
from kernelwright.proof.worker.toolchain import building
from kernelwright.proof.worker.toolchain.translation import Translated

KERNEL = """\
#define INDEX (blockIdx.x * blockDim.x \\
               + threadIdx.x)
__global__ void twice(const float* x, float* y, int n) {
  int i = INDEX;
  if (i < n) y[i] = 2.0f * x[i];  // a comment that goes on \\
     in the next line
}
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '#include "nowhere.h"\n' + KERNEL.replace("2.0f", "FACTOR"),
            "The file does not compile at line 1, column 10: nowhere.h: No such file or directory.",
        ),
        (
            (KERNEL + "int one() { return two; }\n").replace("\n", "\r\n"),
            "The file does not compile at line 8, column 20: ",
        ),
        (
            KERNEL + "#error this needs another GPU\n",
            "The file does not compile at line 8, column 2: #error this needs",
        ),
    ],
)
def test_what_does_not_compile(text: str, message: str) -> None:
    with pytest.raises(JobFailed) as failed:
        LANGUAGE.load("/nowhere/text.cu", text, "subject")
    assert failed.value.failure.message.startswith(message)
    assert "\n" not in failed.value.failure.message


def test_a_gpu_that_the_compiler_does_not_know() -> None:
    says = ("sh", "-c", "echo \"nvcc fatal   : Unsupported gpu architecture 'compute_121'\" >&2; exit 1")
    with pytest.raises(
        JobFailed, match=r"nvcc does not know this GPU \(compute_121\): install a newer CUDA toolkit\.$"
    ):
        building.check(says, KERNEL, Translated(KERNEL, ()))


@pytest.mark.parametrize(
    "text",
    [
        KERNEL.replace("\n", "\r\n"),
        '#include "long.h"\n' + KERNEL.replace("2.0f *", "value_9999() *"),
        "".join(f"#define A{n} A{n - 1}\n" for n in range(1, 400))
        + "#define A0 2.0f\n"
        + KERNEL.replace("2.0f", "A399"),
    ],
    ids=["Windows line ends", "a header of 20,000 lines", "macros of macros"],
)
def test_what_is_unusual(text: str, tmp_path: Path) -> None:
    lines = (f"__device__ inline float value_{n}() {{ return 2.0f; }}\n#define VALUE_{n} {n}\n" for n in range(10000))
    (tmp_path / "long.h").write_text("".join(lines))
    module = LANGUAGE.load(str(tmp_path / "text.cu"), text, "test")
    x, y = torch.randn(5), torch.empty(5)
    module.twice[(1,), (32,), 0](x, y, 5)
    assert torch.equal(y, 2 * x)
    LANGUAGE.unload(module)
