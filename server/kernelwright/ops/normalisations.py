"""Operators whose result has the operand's shape and is scaled by what was found out of whole rows."""

from kernelwright.ops.reductions import moments, norm
from kernelwright.ops.row import Eager, Given, Kind, Layout, Let, Meaning, Over, Row, Steps, rows

_ONLINE: Steps = (
    Let("row_max", "max(input)"),
    Let("shifted", "input - row_max"),
    Let("exponential", "exp(shifted)"),
    Let("exp_sum", "sum(exponential)"),
)
_SOFTMAX: Steps = (*_ONLINE, Let("softmax_out", "exponential / exp_sum"))
_LOG_SOFTMAX: Steps = (*_ONLINE, Let("log_exp_sum", "log(exp_sum)"), Let("log_softmax_out", "shifted - log_exp_sum"))
_SOFTMIN: Steps = (
    Let("negated", "-input"),
    Let("row_max", "max(negated)"),
    Let("shifted", "negated - row_max"),
    *_SOFTMAX[2:],
)


def _affine(given: Given) -> Steps:
    """Weight and bias, as far as there are any, on what is `normalized`."""
    steps: list[Let] = []
    for parameter, text, name in (("weight", "{} * weight", "scaled"), ("bias", "{} + bias", "biased")):
        if given.get(parameter) is not None:
            steps.append(Let(name, text.format(steps[-1].name if steps else "normalized")))
    return tuple(steps)


def _centred(given: Given) -> Steps | None:
    if given.get("use_input_stats") is False:
        return None
    scale = Let("rstd", "rsqrt(variance + eps)")
    return (*moments(), scale, Let("normalized", "centered * rstd"), *_affine(given))


def _rms_norm(given: Given) -> Steps:
    eps = "machine_epsilon" if given["eps"] is None else "eps"
    scale = Let("rrms", f"rsqrt(square_sum / length + {eps})")
    return (Let("square_sum", "sum(input * input)"), scale, Let("normalized", "input * rrms"), *_affine(given))


def _batch_norm(given: Given) -> Steps | None:
    """On running statistics: pointwise, with four numbers for each channel."""
    if given["training"] or given["running_mean"] is None or given["running_var"] is None:
        return None
    normalized = Let("normalized", "(input - running_mean) * rstd")
    return (Let("rstd", "rsqrt(running_var + eps)"), normalized, *_affine(given))


def _batch_norm_in_training(given: Given) -> Steps | None:
    """On the batch's own statistics, which the running ones move towards: the variance by n - 1 there."""
    if not given["training"] or given["momentum"] is None:
        return None
    running = given["running_mean"] is not None and given["running_var"] is not None
    moved = (
        Let("moved_mean", "running_mean * (1.0 - momentum) + mean * momentum"),
        Let("moved_var", "running_var * (1.0 - momentum) + squares / (length - 1.0) * momentum"),
    )
    return (
        Let("mean", "moments_mean(input)"),
        Let("squares", "moments_squares(input)"),
        *(moved if running else ()),
        Let("rstd", "rsqrt(squares / length + eps)"),
        Let("normalized", "(input - mean) * rstd"),
        *_affine(given),
    )


def _normalize(given: Given) -> Steps | None:
    size = norm(given)
    bounded = Let("bounded", "where(norm < eps, eps, norm)")
    return (*size, bounded, Let("normalized", "input / bounded")) if size else None


def _row(name: str, meaning: Meaning, over: Over | None, signature: str, /, **more: object) -> Row:
    return Row(name, Kind.NORMALISATION, signature, meaning, over, **more)  # type: ignore[arg-type]


_SOFT = "input * dim=None dtype=None"
_STATISTICS = (
    "input running_mean=None running_var=None weight=None bias=None * use_input_stats=True momentum=0.1 eps=1e-05"
)

NORMALISATIONS = rows(
    _row("batch_norm", _batch_norm, None,
         "input running_mean running_var weight=None bias=None * training=False momentum=0.1 eps=1e-05",
         statistics=_batch_norm_in_training, effects=(("running_mean", "moved_mean"), ("running_var", "moved_var")),
         attributes="eps momentum", word="batch norm", flops=4, per_channel=True, layout=Layout.KEPT),
    _row("group_norm", _centred, Over.GROUPS, "input num_groups weight=None bias=None * eps=1e-05",
         module="GroupNorm", attributes="eps num_groups",
         word="group norm", flops=8, per_channel=True, alone=True, eager=Eager.MOMENTS_APART),
    _row("instance_norm", _centred, Over.POSITIONS, _STATISTICS, attributes="eps", word="instance norm",
         per_channel=True, alone=True,
         eager=Eager.MOMENTS_APART),
    _row("layer_norm", _centred, Over.LAST, "input normalized_shape weight=None bias=None * eps=1e-05",
         module="LayerNorm", attributes="eps", word="LayerNorm", flops=8,
         alone=True, eager=Eager.BLOCK_PER_ROW, layout=Layout.CONTIGUOUS),
    _row("log_softmax", _LOG_SOFTMAX, Over.DIM, _SOFT, aliases="special_log_softmax", module="LogSoftmax",
         word="log-softmax", flops=5, alone=True, eager=Eager.ROW_THREE_TIMES, layout=Layout.CONTIGUOUS),
    _row("normalize", _normalize, Over.DIM, "input * p=2.0 dim=1 eps=1e-12", word="normalization", passes=2, launches=5,
         alone=True),
    _row("rms_norm", _rms_norm, Over.LAST, "input normalized_shape weight=None * eps=None", module="RMSNorm",
         word="RMSNorm", alone=True, eager=Eager.BLOCK_PER_ROW),
    _row("softmax", _SOFTMAX, Over.DIM, _SOFT, aliases="special_softmax", module="Softmax", flops=5, alone=True,
         eager=Eager.ROW_THREE_TIMES, layout=Layout.CONTIGUOUS),
    _row("softmin", _SOFTMIN, Over.DIM, _SOFT, module="Softmin", eager=Eager.ROW_THREE_TIMES),
)  # fmt: skip
