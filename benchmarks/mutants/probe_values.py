"""Kinds of tensors for the probe: values that tests often forget, and the same values in other places of memory."""

from collections.abc import Callable

import torch

from kernelwright.values import TensorSpec

Values = Callable[[tuple[int, ...], torch.Generator], torch.Tensor]
Layout = Callable[[torch.Tensor], torch.Tensor]
OFFSET = "an offset into its memory"


def _randn(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def _places(shape: tuple[int, ...]) -> torch.Tensor:
    count = int(torch.Size(shape).numel())
    return torch.arange(count, dtype=torch.float64).reshape(shape)


def _one_hot(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    zeros = torch.zeros(shape, dtype=torch.float64)
    last = shape[-1] if shape else 1
    at = torch.randint(0, last, (*shape[:-1], 1), generator=generator)
    return zeros.scatter(-1, at, 3.0) if shape else zeros + 3.0


def _with(value: float) -> Values:
    def one_of_them(shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
        made = _randn(shape, generator).contiguous()
        made.view(-1)[made.numel() // 2 : made.numel() // 2 + 1] = value
        return made

    return one_of_them


# Values in fp64, cast to the asked dtype afterwards; what overflows there becomes infinite for baseline and mutant.
VALUES: dict[str, Values] = {
    "normal": _randn,
    "non-negative": lambda shape, g: _randn(shape, g).abs(),
    "non-positive": lambda shape, g: -_randn(shape, g).abs(),
    "zeros": lambda shape, g: torch.zeros(shape, dtype=torch.float64),
    "all equal": lambda shape, g: torch.full(shape, 0.7, dtype=torch.float64),
    "one hot": _one_hot,
    "alternating signs": lambda shape, g: 1.0 - 2.0 * (_places(shape) % 2),
    "rising": lambda shape, g: _places(shape) / max(1, torch.Size(shape).numel()) * 4 - 2,
    "falling": lambda shape, g: 2 - _places(shape) / max(1, torch.Size(shape).numel()) * 4,
    "steeply rising": lambda shape, g: _places(shape) - torch.Size(shape).numel() / 2,
    "steeply falling": lambda shape, g: torch.Size(shape).numel() / 2 - _places(shape),
    "ties": lambda shape, g: torch.randint(-2, 3, shape, generator=g).to(torch.float64),
    "offset +1000": lambda shape, g: _randn(shape, g) + 1000,
    "offset -1000": lambda shape, g: _randn(shape, g) - 1000,
    "offset -20000": lambda shape, g: _randn(shape, g) - 20000,
    "times 30": lambda shape, g: _randn(shape, g) * 30,
    "times 20000": lambda shape, g: _randn(shape, g) * 20000,
    "times 1e-3": lambda shape, g: _randn(shape, g) * 1e-3,
    "times 1e-7": lambda shape, g: _randn(shape, g) * 1e-7,
    "denormal": lambda shape, g: _randn(shape, g) * 1e-39,
    "the smallest numbers": lambda shape, g: torch.randint(-300, 300, shape, generator=g) * 2.0**-149,
    "many magnitudes": lambda shape, g: _randn(shape, g) * 10.0 ** (8 * torch.rand(shape, generator=g) - 4),
    "one NaN": _with(float("nan")),
    "one infinity": _with(float("inf")),
    "one negative infinity": _with(-float("inf")),
}


def _transposed(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)


def _padded(tensor: torch.Tensor) -> torch.Tensor:
    """A slice of a wider tensor: rows are further apart than they are long."""
    wide = torch.cat((tensor, torch.full_like(tensor[..., :1], 99).expand(*tensor.shape[:-1], 5)), dim=-1)
    return wide[..., : tensor.shape[-1]]


def _every_second(tensor: torch.Tensor) -> torch.Tensor:
    return torch.stack((tensor, torch.full_like(tensor, 99)), dim=-1).flatten(-2)[..., ::2]


def _offset(tensor: torch.Tensor) -> torch.Tensor:
    flat = torch.cat((torch.full_like(tensor.reshape(-1)[:1], 99).expand(3), tensor.reshape(-1)))
    return flat[3:].view(tensor.shape)


def _expanded(tensor: torch.Tensor) -> torch.Tensor:
    return tensor[:1].expand(tensor.shape)


LAYOUTS: dict[str, Layout] = {
    "transposed": _transposed,
    "a slice with longer rows": _padded,
    "every second element": _every_second,
    OFFSET: _offset,
    "one row expanded": _expanded,
}


def made(spec: TensorSpec, values: str, device: str, generator: torch.Generator) -> torch.Tensor:
    """The tensor of a workload line, filled with `values`; whole numbers stay within what the line allows.

    An output begins as what nobody would take for an answer.
    """
    dtype = getattr(torch, spec.dtype)
    if spec.role == "out":
        return torch.full(spec.shape, float("nan") if dtype.is_floating_point else 77, dtype=dtype, device=device)
    if not dtype.is_floating_point:
        low, high = (int(p) for p in (*spec.parameters, 0, 2)[:2])
        whole = torch.randint(low, high, spec.shape, generator=generator)
        fixed = {"zeros": low, "all equal": high - 1, "non-positive": low, "non-negative": high - 1}
        filled = torch.full_like(whole, fixed[values]) if values in fixed else whole
        if values == "ties":
            filled = torch.where(torch.rand(spec.shape, generator=generator) < 0.5, low, whole)
        return filled.to(dtype).to(device)
    tensor = VALUES[values](spec.shape, generator).to(dtype)
    if spec.layout == "transposed":
        tensor = _transposed(tensor)
    return tensor.to(device)
