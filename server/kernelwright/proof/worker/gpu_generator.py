"""The random numbers of a GPU that is not there, as launchers read them: a seed and an offset, which they move on."""

import struct
from typing import Any

import torch

_STATE = struct.Struct("qq")


class GpuGenerator(torch.Generator):
    """Stands for `torch.cuda.default_generators[0]`, whose state has 16 bytes where that of the CPU's is a table."""

    _offset = 0

    def manual_seed(self, seed: int) -> "GpuGenerator":
        super().manual_seed(seed)
        self._offset = 0
        return self

    def get_state(self) -> torch.Tensor:
        seed = self.initial_seed() % 2**63
        return torch.frombuffer(bytearray(_STATE.pack(seed, self._offset)), dtype=torch.uint8)

    def set_state(self, state: torch.Tensor) -> Any:
        seed, offset = _STATE.unpack(bytes(state.tolist()))
        if seed != self.initial_seed() % 2**63:
            super().manual_seed(seed)
        self._offset = offset


GENERATOR = GpuGenerator()
