"""Binds the arguments of a torch call to its canonical signature: dims non-negative, defaults filled in."""

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from kernelwright.ops import KEYWORDS, ROWS, Kind, canonical_name, of_kind, row, signature

_REDUCTIONS = of_kind(Kind.REDUCTION)
_OF_ONE_DIM = {row.name for row in ROWS.values() if row.signature == "input * dim=None dtype=None"}
"""Those that choose a dim themselves where none is given."""
_DROPPED = frozenset({"_stacklevel", "inplace", "out", "generator", "device", "non_blocking", "layout", "pin_memory"})


@dataclass(frozen=True)
class BoundTorchCall:
    op: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    inplace: bool


def bind(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> BoundTorchCall:
    """`func(*args, **kwargs)` under its canonical name; what has no known signature keeps its arguments as given."""
    op, reflected, inplace = canonical_name(name)
    op, args, kwargs = _respelled(op, args, kwargs)
    if reflected:
        args = (args[1], args[0], *args[2:])
    inplace = inplace or bool(kwargs.get("inplace"))
    names = _names(func, op)
    known = signature(op)
    if known is None or names is None:
        return BoundTorchCall(op, tuple(args), {k: v for k, v in kwargs.items() if k not in _DROPPED}, inplace)
    given = {KEYWORDS.get(n, n): v for n, v in zip(names, args, strict=False)}
    given |= {KEYWORDS.get(n, n): v for n, v in kwargs.items()}
    inplace = inplace or bool(given.get("inplace"))
    parameters, operands = known
    filled = {n: given.get(n, None if default is ... else default) for n, default in parameters}
    extra = {n: v for n, v in given.items() if n not in filled and n not in _DROPPED and v is not None}
    order = [n for n, _ in parameters]
    operand_values = tuple(filled[n] for n in order[:operands])
    options = _normal(op, operand_values, {n: filled[n] for n in order[operands:]} | extra)
    return BoundTorchCall(op, operand_values, options, inplace)


def _respelled(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[str, tuple[Any, ...], dict[str, Any]]:
    """One torch name with several meanings, as the meaning that is called."""
    if op in ("max", "min"):
        second = args[1] if len(args) > 1 else kwargs.get("other")
        if isinstance(second, torch.Tensor):
            return op + "imum", args, kwargs
    if row(op).spread and len(args) > 2:
        return op, (args[0], tuple(args[1:])), kwargs
    if op == "view" and len(args) == 2 and isinstance(args[1], torch.dtype):
        return "view_dtype", args, kwargs
    if op in ("float", "half", "bfloat16", "double", "int", "long", "bool"):
        dtypes = {"float": "float32", "half": "float16", "double": "float64", "int": "int32", "long": "int64"}
        return "to", args[:1], {"dtype": dtypes.get(op, op)}
    if op in ("to", "type", "type_as"):
        dtype = next((a for a in (*args[1:], *kwargs.values()) if isinstance(a, torch.dtype)), None)
        like = next((a for a in args[1:2] if isinstance(a, torch.Tensor)), None)
        return "to", args[:1], {"dtype": dtype or (like.dtype if like is not None else None)}
    return op, args, kwargs


def _names(func: Any, op: str) -> list[str] | None:
    """Parameter names of a Python function from itself, of a builtin from the canonical signature."""
    if inspect.isfunction(func) and not hasattr(func, "__wrapped__") and not func.__name__.startswith("__"):
        return [KEYWORDS.get(n, n) for n in inspect.signature(func).parameters]
    known = signature(op)
    return [n for n, _ in known[0]] if known else None


def _normal(op: str, operands: tuple[Any, ...], options: dict[str, Any]) -> dict[str, Any]:
    source = operands[0] if operands and isinstance(operands[0], torch.Tensor) else None
    if source is None:
        return options
    rank = source.dim()
    if op in ("var", "std"):
        if isinstance(options["dim"], bool):
            options["correction"], options["dim"] = int(options["dim"]), None
        if isinstance(options["correction"], bool):
            options["correction"] = int(options["correction"])
    if op in _REDUCTIONS and "dim" in options:
        options["dim"] = _dims(options["dim"], rank)
    elif op in _OF_ONE_DIM and isinstance(options["dim"], int):
        options["dim"] = options["dim"] % max(rank, 1)
    elif op in _OF_ONE_DIM:
        options["dim"] = 0 if rank in (0, 1, 3) else 1
    return options


def _dims(dim: Any, rank: int) -> tuple[int, ...]:
    """Sorted and non-negative; None or () means all of them."""
    if dim is None or dim == () or dim == []:
        return tuple(range(rank))
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    return tuple(sorted(int(d) % max(rank, 1) for d in dims))
