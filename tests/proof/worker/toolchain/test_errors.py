"""What compilers print, read as errors at their places; and what is told of a text that is being typed."""

from pathlib import Path

import pytest

from kernelwright.proof.worker.toolchain.checking import compile_errors
from kernelwright.proof.worker.toolchain.errors import CompileError, errors_of
from kernelwright.proof.worker.toolchain.translation import Translated

TEXT = """\
#include <cuda_runtime.h>

__global__ void scale(float* x, int n) {
\tint i = blockIdx.x * blockDim.x + threadIdx.x;
\tif (i < n) x[i] *= 2.0f;
}

void run(float* x, int n) { scale<<<(n + 255) / 256, 256>>>(x, n); }
"""


@pytest.mark.parametrize(
    ("said", "errors"),
    [
        (
            "kernelwright_text.cu: In function ‘void f()’:\nkernelwright_text.cu:4:9: error: ‘y’ was not declared.\n    4 | y",
            [CompileError(3, 8, "'y' was not declared")],
        ),
        (
            'kernelwright_text.cu(3): error: identifier "yy" is undefined\n\n1 error detected in the compilation of "a".',
            [CompileError(2, None, 'identifier "yy" is undefined')],
        ),
        (
            "/tmp/x/kernelwright_text.cu:1:10: fatal error: mine.h: No such file or directory\n    1 | #include",
            [CompileError(0, 9, "mine.h: No such file or directory", is_missing_file=True)],
        ),
        (
            "In file included from inner.h:3,\n                 from /tmp/x/kernelwright_text.cu:2:\n"
            "outer.h:7:3: error: expected ‘;’\nouter.h:9:3: error: expected ‘)’",
            [
                CompileError(1, None, "in outer.h, line 7: expected ';'"),
                CompileError(1, None, "in outer.h, line 9: expected ')'"),
            ],
        ),
        ("kernelwright_text.cu:2:1: warning: unused\ncc1plus: all warnings being treated as errors", []),
        ("kernelwright_text.cu:2:1: error: twice\nkernelwright_text.cu:2:1: error: twice", [CompileError(1, 0, "twice")]),
    ],
    ids=("gcc", "nvcc", "missing", "header", "warning", "twice"),
)  # fmt: skip
def test_what_a_compiler_prints(said: str, errors: list[CompileError]) -> None:
    assert errors_of(said, TEXT, Translated(TEXT, ())) == tuple(errors)


@pytest.mark.parametrize(
    ("old", "new", "places"),
    [
        ("2.0f", "two", [(4, 20)]),
        ("int i = blockIdx", "int i blockIdx", [(3, 7)]),
        ("(x, n)", "(x)", [(7, 28)]),
        ("x[i] *=", "x *=", [(4, 14)]),
        ("scale<<<", "scael<<<", [(7, 28)]),
        ("2.0f", "__ldg_of_tomorrow(x)", []),  # the emulator has not all of CUDA
        ("<cuda_runtime.h>", "<cuda_runtime_api.h>", []),
        ("scale(float* x", "scale(float* __restrict__ x", []),
    ],
)
def test_errors_of_a_text_that_is_being_typed(
    tmp_path: Path, old: str, new: str, places: list[tuple[int, int]]
) -> None:
    assert old in TEXT
    errors = compile_errors(str(tmp_path / "scale.cu"), TEXT.replace(old, new), quick=True)
    assert errors is not None
    assert [(error.line, error.column) for error in errors][: len(places)] == places
    assert bool(errors) == bool(places)


def test_headers_beside_the_file_are_found(tmp_path: Path) -> None:
    text = TEXT.replace("<cuda_runtime.h>", '"factor.h"').replace("2.0f", "FACTOR")
    (error,) = compile_errors(str(tmp_path / "scale.cu"), text, quick=True) or ()
    assert (error.line, error.is_missing_file) == (0, True)
    (tmp_path / "factor.h").write_text("#define FACTOR 2.0f\n")
    assert compile_errors(str(tmp_path / "scale.cu"), text, quick=True) == ()


def test_what_the_emulator_lacks_is_not_called_an_error(tmp_path: Path) -> None:
    assert compile_errors(str(tmp_path / "scale.cu"), f"#include <cub/cub.cuh>\n{TEXT}", quick=True) is None
