"""Operators that make tensors out of nothing, and those that draw random numbers."""

from kernelwright.ops.row import Given, Kind, Layout, Row, rows


def _dropout(given: Given) -> str | None:
    return "input" if given["training"] is False or given["p"] == 0 else None


def _dropouts(names: str, signature: str) -> tuple[Row, ...]:
    return tuple(Row(name, Kind.RANDOM, signature, draws=True, passes_on=True) for name in names.split())


def _creations(names: str, layout: Layout = Layout.UNKNOWN, *, draws: bool = False) -> tuple[Row, ...]:
    return tuple(Row(name, Kind.CREATION, layout=layout, draws=draws) for name in names.split())


RANDOM = rows(
    Row("dropout", Kind.RANDOM, "input * p=0.5 training=True", _dropout, module="Dropout", layout=Layout.KEPT,
        draws=True, passes_on=True),
    *_dropouts("dropout1d dropout2d dropout3d", "input * p=0.5 training=True"),
    *_dropouts("alpha_dropout feature_alpha_dropout", "input * p=0.5 training=False"),
    *(Row(name, Kind.RANDOM, draws=True) for name in ("bernoulli", "multinomial", "normal", "poisson")),
)  # fmt: skip

CREATIONS = rows(
    Row("tensor", Kind.CREATION, "data", "data", layout=Layout.KEPT),
    *_creations(
        "arange empty empty_permuted empty_strided eye full full_like linspace logspace ones scalar_tensor zeros"
    ),
    *_creations("empty_like ones_like zeros_like", Layout.KEPT),
    *_creations("rand rand_like randint randint_like randn randn_like randperm", draws=True),
)
