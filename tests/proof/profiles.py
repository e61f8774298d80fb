"""Profiles as they would come from a GPU, a CPU and the interpreter, in one line each."""

from kernelwright.proof.worker.kernels.names import Known, origin_of
from kernelwright.proof.worker.profiling.tally import Activity, tally
from kernelwright.values import ProfiledOn, ProfileResult

SOFTMAX = "softmax_kernel"
GEMM = "ampere_sgemm_128x64_nn"
INDUCTOR = "triton_poi_fused_add_0"

_KNOWN = Known(launched=frozenset({SOFTMAX}))


def on_gpu(times_us: dict[str, float]) -> ProfileResult:
    return _result(ProfiledOn.GPU, "NVIDIA H200", [Activity(name, time) for name, time in times_us.items()])


def on_cpu(*operators: str) -> ProfileResult:
    """Each operator takes a microsecond more than the next."""
    times = range(len(operators), 0, -1)
    return _result(ProfiledOn.CPU, "A CPU", [Activity(n, float(t)) for n, t in zip(operators, times, strict=True)])


def uncounted(*names: str) -> ProfileResult:
    """Launches and operators in the interpreter, without times."""
    return _result(ProfiledOn.INTERPRETER, "A CPU", [Activity(name) for name in names])


def _result(on: ProfiledOn, device: str, call: list[Activity]) -> ProfileResult:
    kernels = tally([call], lambda name: origin_of(name, _KNOWN))
    unmeasured = "not measured: Triton's interpreter" if on is ProfiledOn.INTERPRETER else ""
    return ProfileResult.of_kernels("text", device, on, 1, kernels, unmeasured=unmeasured)
