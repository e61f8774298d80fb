"""Operators that reduce some dims of one tensor, and scans along one."""

import math

from kernelwright.ops.row import Eager, Given, Kind, Layout, Let, Meaning, Over, Row, Steps, rows

_DIM = "input * dim=None keepdim=False"
_DIM_DTYPE = _DIM + " dtype=None"


def _row(name: str, meaning: Meaning | None, signature: str = _DIM, /, **more: object) -> Row:
    return Row(name, Kind.REDUCTION, signature, meaning, Over.DIM, layout=Layout.CONTIGUOUS, **more)  # type: ignore[arg-type]


def _scan(name: str, fold: str = "", signature: str = "input * dim", /, **more: object) -> Row:
    return Row(name, Kind.SCAN, signature, fold=fold, **more)  # type: ignore[arg-type]


SUM = Let("row_sum", "sum(input)")
MEAN: Steps = (SUM, Let("mean", "row_sum / length"))

_LOGSUMEXP: Steps = (
    Let("row_max", "max(input)"),
    # An infinite maximum is not subtracted: inf - inf would be NaN where the answer is inf.
    Let("finite_max", "where(abs(row_max) == inf, 0.0, row_max)"),
    Let("exponential", "exp(input - finite_max)"),
    Let("exp_sum", "sum(exponential)"),
    Let("logsumexp_out", "log(exp_sum) + finite_max"),
)


def moments(divisor: str = "length") -> Steps:
    """`centered` elements and the row's `variance`, by two passes over the row in registers."""
    return (
        Let("row_sum", "sum(input)"),
        Let("mean", "row_sum / length"),
        Let("centered", "input - mean"),
        Let("square_sum", "sum(centered * centered)"),
        Let("variance", f"square_sum / {divisor}"),
    )


def _variance(given: Given) -> Steps:
    correction = given["correction"]
    return moments("length" if correction == 0 else f"(length - {correction})")


def norm(given: Given) -> Steps | None:
    """The p-norm of a row, for the p that have a short form."""
    if given["p"] in (2, "fro", None):
        return (Let("square_sum", "sum(input * input)"), Let("norm", "sqrt(square_sum)"))
    fold = {1: "sum", math.inf: "nan_max"}.get(given["p"])
    return (Let("norm", f"{fold}(abs(input))"),) if fold else None


_LARGEST, _SMALLEST = (Let("row_max", "nan_max(input)"),), (Let("row_min", "nan_min(input)"),)

_AT_LARGEST, _AT_SMALLEST = (Let("argmax", "argmax(input)"),), (Let("argmin", "argmin(input)"),)

REDUCTIONS = rows(
    _row("all", None),
    _row("amax", _LARGEST, word="maximum", of_one=True, alone=True),
    _row("amin", _SMALLEST, word="minimum", of_one=True, alone=True),
    _row("any", None),
    _row("argmax", _AT_LARGEST, alone=True, eager=Eager.INDEXED),
    _row("argmin", _AT_SMALLEST, alone=True, eager=Eager.INDEXED),
    _row("logsumexp", _LOGSUMEXP, "input * dim keepdim=False", aliases="special_logsumexp", of_one=True, alone=True,
         flops=4, passes=2, launches=4),
    _row("max", _LARGEST, second=_AT_LARGEST, word="maximum", of_one=True, alone=True, eager=Eager.INDEXED),
    _row("mean", MEAN, _DIM_DTYPE, of_one=True, alone=True),
    _row("min", _SMALLEST, second=_AT_SMALLEST, word="minimum", of_one=True, alone=True, eager=Eager.INDEXED),
    _row("norm", norm, "input * p='fro' dim=None keepdim=False dtype=None", aliases="linalg_norm", alone=True),
    _row("prod", (Let("row_product", "prod(input)"),), _DIM_DTYPE, word="product", of_one=True, alone=True),
    _row("std", lambda given: (*_variance(given), Let("deviation", "sqrt(variance)")), _DIM + " correction=1",
         word="standard deviation", eager=Eager.DIVIDING),
    _row("std_mean", None, ""),
    _row("sum", (SUM,), _DIM_DTYPE, of_one=True, alone=True),
    _row("var", _variance, _DIM + " correction=1", word="variance", eager=Eager.DIVIDING),
    _row("var_mean", None, ""),
    _row("vector_norm", norm, "input * p=2 dim=None keepdim=False dtype=None", aliases="linalg_vector_norm",
         spelled="torch.norm", alone=True),
    _scan("cummax"),
    _scan("cummin"),
    _scan("cumprod", "prod", "input * dim dtype=None", result="running_product", word="running product", alone=True),
    _scan("cumsum", "sum", "input * dim dtype=None", result="running_sum", word="running sum", alone=True),
    _scan("logcumsumexp"),
)  # fmt: skip
