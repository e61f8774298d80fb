"""The device that kernels run on, with the ceilings of its roofline."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Device:
    """`bandwidth` in bytes/s and `peak_flops` in FLOP/s per dtype ("float32", "tf32", "float16", …); 0 or absent: unknown.

    `compute_capability` is 90 for sm_90, None for a CPU. `torch`, `triton`, `cute` (NVIDIA's CuTe DSL):
    versions found, None when missing.
    """

    kind: str  # "cuda" | "cpu"
    name: str
    index: int = 0
    uuid: str = ""
    compute_capability: int | None = None
    multiprocessors: int = 0
    memory_bytes: int = 0
    l2_bytes: int = 0
    bandwidth: float = 0.0
    peak_flops: Mapping[str, float] = field(default_factory=dict)
    torch: str | None = None
    triton: str | None = None
    python: str | None = None
    cute: str | None = None

    @property
    def is_gpu(self) -> bool:
        return self.kind == "cuda"


CPU = Device(kind="cpu", name="CPU")
