"""Input data of special kinds, on which kernels err that are right on random numbers.

Each property changes the floating-point tensors of a call and keeps their shape, dtype and device.
"""

from collections.abc import Callable

import torch

from kernelwright.proof.worker.inputs import Inputs, map_leaves

_OFFSET = {torch.float16: 64.0, torch.bfloat16: 32.0}  # where the dtype still resolves the random part
_USUAL_OFFSET = 1024.0


def _all_equal(x: torch.Tensor) -> torch.Tensor:
    return torch.full_like(x, float(x.reshape(-1)[0]))


def _one_hot(x: torch.Tensor) -> torch.Tensor:
    hot = torch.zeros_like(x)
    hot[tuple(size // 2 for size in x.shape)] = 1.0
    return hot


def _alternating(x: torch.Tensor) -> torch.Tensor:
    signs = 1 - 2 * (torch.arange(x.shape[-1], device=x.device) % 2)
    return x.abs() * signs.to(x.dtype)


def _offset(x: torch.Tensor) -> torch.Tensor:
    return x + _OFFSET.get(x.dtype, _USUAL_OFFSET)


def _tiny(x: torch.Tensor) -> torch.Tensor:
    return x * (torch.finfo(x.dtype).tiny * 4)


def _sorted(x: torch.Tensor) -> torch.Tensor:
    return x.sort(dim=-1).values


def _negative(x: torch.Tensor) -> torch.Tensor:
    return -x.abs()


def _varied(x: torch.Tensor) -> torch.Tensor:
    """Only where all elements are alike: what a workload makes constant must not be taken for granted."""
    first = float(x.reshape(-1)[0])
    if not bool((x == first).all()):
        return x
    noise = torch.rand(x.shape, generator=torch.Generator().manual_seed(x.numel())).to(x.device, x.dtype)
    return first * (0.5 + noise) if first else noise - 0.5


def _sliced(x: torch.Tensor) -> torch.Tensor:
    """The same values as every second element of a larger tensor."""
    wide = torch.full((*x.shape[:-1], 2 * x.shape[-1]), float("nan"), dtype=x.dtype, device=x.device)
    view = wide[..., ::2]
    view.copy_(x)
    return view


def _transposed(x: torch.Tensor) -> torch.Tensor:
    """The same values, with the last two dimensions exchanged in memory."""
    return x.transpose(-1, -2).contiguous().transpose(-1, -2) if x.dim() >= 2 else x


PROPERTIES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "constants varied": _varied,
    "negative": _negative,
    "alternating signs": _alternating,
    "all equal": _all_equal,
    "one hot": _one_hot,
    "large offset": _offset,
    "sorted": _sorted,
    "tiny": _tiny,
    "sliced views": _sliced,
    "transposed views": _transposed,
}
VIEWS = frozenset({"sliced views", "transposed views"})


def with_property(inputs: Inputs, name: str) -> Inputs | None:
    """The inputs with the property, None where it changes nothing of them."""
    change, changed = PROPERTIES[name], []

    def leaf(value: object) -> object:
        if not isinstance(value, torch.Tensor) or not value.is_floating_point() or value.numel() < 2 or not value.dim():
            return value
        if value.isnan().any():  # an output to be filled, poisoned
            return value
        made = change(value)
        if made is value or (made.stride() == value.stride() and torch.equal(made, value)):
            return value
        changed.append(True)
        return made.requires_grad_(value.requires_grad)

    made = Inputs(map_leaves(leaf, inputs.args), map_leaves(leaf, inputs.kwargs))
    return made if changed else None
