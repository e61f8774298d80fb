"""What the driver, torch and Triton say when the GPU is gone, beside what they say of a kernel or a workload."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch.utils import cpp_extension

from kernelwright.proof.worker.failed import failure_of
from kernelwright.values import FailureKind

GONE, CRASHED, FAILED = FailureKind.DEVICE_GONE, FailureKind.CRASHED, FailureKind.WORKLOAD_FAILED
HINTS = (
    "\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be "
    "incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1\nCompile with `TORCH_USE_CUDA_DSA` to enable "
    "device-side assertions.\n"
)


class NVMLError_GpuIsLost(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (torch.AcceleratorError(f"CUDA error: no CUDA-capable device is detected{HINTS}"), GONE),
        (RuntimeError(f"CUDA error: CUDA-capable device(s) is/are busy or unavailable{HINTS}"), GONE),
        (RuntimeError("CUDA driver error: device unavailable"), GONE),
        (RuntimeError("No CUDA GPUs are available"), GONE),
        (RuntimeError("Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU."), GONE),
        (RuntimeError("CUDA driver initialization failed, you might not have a CUDA gpu."), GONE),
        (
            RuntimeError(
                "CUDA unknown error - this may be due to an incorrectly set up environment, e.g. changing env variable "
                "CUDA_VISIBLE_DEVICES after program start. Setting the available devices to be zero."
            ),
            GONE,
        ),
        (RuntimeError(f"CUDA error: unknown error{HINTS}"), GONE),
        (RuntimeError(f"CUDA error: system not yet initialized{HINTS}"), GONE),
        (RuntimeError(f"CUDA error: uncorrectable ECC error encountered{HINTS}"), GONE),
        (RuntimeError("0 active drivers ([]). There should only be one."), GONE),
        (RuntimeError("Failed to initialize NVML: Driver/library version mismatch"), GONE),
        (NVMLError_GpuIsLost("GPU is lost"), GONE),
        (torch.AcceleratorError(f"CUDA error: unspecified launch failure{HINTS}"), CRASHED),
        (RuntimeError(f"CUDA error: an illegal memory access was encountered{HINTS}"), CRASHED),
        (RuntimeError(f"CUDA error: invalid device ordinal{HINTS}"), FAILED),
        (RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB."), FailureKind.OUT_OF_MEMORY),
        (ValueError("no CUDA-capable device is detected"), FAILED),
        (AssertionError("Torch not compiled with CUDA enabled"), FailureKind.NO_GPU),
        (AssertionError("the CUDA version of the file"), FAILED),
    ],
)
def test_who_is_at_fault(error: Exception, kind: FailureKind) -> None:
    failure = failure_of(error)
    assert failure.kind is kind
    assert failure.about_kernel is (kind not in (GONE, FailureKind.NO_GPU))
    assert "\n" not in failure.message
    if kind is GONE:
        assert failure.message.startswith("The GPU cannot be used (")
        assert failure.message.endswith("): see what `nvidia-smi` and `kernelwright doctor` say, then try again.")


@pytest.mark.skipif(torch.cuda.is_available(), reason="with a GPU nvcc compiles it, and nothing is refused")
@pytest.mark.parametrize(
    ("compile", "name"),
    [
        (lambda: torch.cuda._compile_kernel("__global__ void k() {}", "k"), "torch.cuda._compile_kernel"),
        (lambda: cpp_extension.load_inline("k", "", "__global__ void k() {}", functions=[]), "load_inline"),
        (lambda: cpp_extension.load("k", ["missing.cu"]), "torch.utils.cpp_extension"),
    ],
)
def test_what_compiles_cuda_needs_a_gpu(
    compile: Callable[[], object], name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    with pytest.raises(Exception) as caught:  # noqa: PT011  what it says depends on what is installed
        compile()
    failure = failure_of(caught.value)
    assert failure.kind is FailureKind.NO_GPU
    assert f"compiles CUDA C++ by {name}, which needs nvcc and an NVIDIA GPU" in failure.message
