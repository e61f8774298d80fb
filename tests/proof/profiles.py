"""Profiles as they would come from a GPU, a CPU and the interpreter, in one line each."""

from kernelwright.proof.worker.attribution.profile import tally
from kernelwright.proof.worker.languages import Known
from kernelwright.proof.worker.profiling.names import origin_of
from kernelwright.proof.worker.profiling.work import Part, Work
from kernelwright.values import Origin, ProfiledOn, ProfileResult

SOFTMAX = "softmax_kernel"
GEMM = "ampere_sgemm_128x64_nn"
INDUCTOR = "triton_poi_fused_add_0"


def on_gpu(times_us: dict[str, float]) -> ProfileResult:
    return _result("NVIDIA H200", work(ProfiledOn.GPU, *times_us.items()))


def on_cpu(*operators: str) -> ProfileResult:
    """Each operator takes a microsecond more than the next."""
    times = map(float, range(len(operators), 0, -1))
    return _result("A CPU", work(ProfiledOn.CPU, *zip(operators, times, strict=True)))


def uncounted(*names: str) -> ProfileResult:
    """Launches and operators in the interpreter, without times."""
    return _result("A CPU", work(ProfiledOn.INTERPRETER, *((name, 0.0) for name in names)))


def work(on: ProfiledOn, *parts: tuple[str, float], launches: int = 1) -> Work:
    """A call in which each of these kernels was launched, with its microseconds."""
    untimed = "not measured: no GPU runs it" if on is ProfiledOn.INTERPRETER else ""
    made = tuple(
        Part(name, origin_of(name, Known(), {SOFTMAX: Origin.HAND_WRITTEN}), launches, time) for name, time in parts
    )
    return Work(on, made, untimed=untimed)


def _result(device: str, call: Work) -> ProfileResult:
    return ProfileResult.of_kernels("text", device, call.measured_on, 1, tally([call]), unmeasured=call.untimed)
