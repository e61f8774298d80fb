"""One name for each operator and parameter, however a call spells them."""

from kernelwright.ops.row import Kind
from kernelwright.ops.table import ROWS, row

_ALIASES = {alias: row.name for row in ROWS.values() for alias in row.aliases.split()}
_SIGNS = [name for row in ROWS.values() if row.sign for name in (row.name, *row.aliases.split())]
_REFLECTED = {"r" + name: name for name in _SIGNS}
_IN_PLACE = {"i" + name: name for name in _SIGNS} | {"idiv": "div"}

KEYWORDS = {
    "axis": "dim",
    "axes": "dim",
    "keepdims": "keepdim",
    "x": "input",
    "self": "input",
    "ord": "p",
    "divisor": "other",
    "min_value": "min",
    "a_min": "min",
    "a_max": "max",
    "unbiased": "correction",
    "_input": "input",
    "src": "input",
}


def canonical_name(raw: str) -> tuple[str, bool, bool]:
    """(name, reflected, in place) for a torch function's own name: "__radd__" is ("add", True, False)."""
    if raw.startswith("__") and raw.endswith("__"):
        name = raw.strip("_")
        if name in _REFLECTED:
            return _canonical(_REFLECTED[name]), True, False
        if name in _IN_PLACE:
            return _canonical(_IN_PLACE[name]), False, True
        return _canonical(name), False, False
    if raw == "rsub":
        return "sub", True, False
    if raw.endswith("_") and not raw.endswith("__") and len(raw) > 2:
        return _canonical(raw.strip("_")), False, True
    return _canonical(raw.lstrip("_") or raw), False, False


def _canonical(name: str) -> str:
    return _ALIASES.get(name, name)


_FUNCTIONAL = {Kind.ATTENTION, Kind.CONVOLUTION, Kind.LOSS, Kind.NORMALISATION, Kind.POOLING, Kind.RANDOM}


def torch_name(op: str) -> str:
    """How code calls an operator: "torch.exp", "torch.nn.functional.gelu"; ".view" for a method of tensors."""
    known = row(op)
    if known.spelled:
        return known.spelled
    if known.view:
        return f".{op}"
    return f"torch.nn.functional.{op}" if known.module or known.kind in _FUNCTIONAL else f"torch.{op}"
