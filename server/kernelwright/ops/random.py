"""Operators that make tensors out of nothing, and those that draw random numbers."""

from kernelwright.ops.row import Given, Kind, Layout, Row, rows


def _dropout(given: Given) -> str | None:
    return "input" if given["training"] is False or given["p"] == 0 else None


def _creations(names: str, layout: Layout = Layout.UNKNOWN) -> tuple[Row, ...]:
    return tuple(Row(name, Kind.CREATION, layout=layout) for name in names.split())


RANDOM = rows(
    Row("dropout", Kind.RANDOM, "input * p=0.5 training=True", _dropout, module="Dropout", layout=Layout.KEPT),
    *(Row(name, Kind.RANDOM) for name in ("alpha_dropout", "bernoulli", "dropout1d", "dropout2d", "dropout3d",
                                          "feature_alpha_dropout", "multinomial", "normal", "poisson")),
)  # fmt: skip

CREATIONS = rows(
    Row("tensor", Kind.CREATION, "data", "data", layout=Layout.KEPT),
    *_creations(
        "arange empty empty_permuted empty_strided eye full full_like linspace logspace ones rand rand_like randint"
    ),
    *_creations("randint_like randn randn_like randperm scalar_tensor zeros"),
    *_creations("empty_like ones_like zeros_like", Layout.KEPT),
)
