"""Losses: a distance of two tensors, element by element, and its sum or mean."""

from kernelwright.ops.row import Given, Kind, Let, Meaning, Over, Row, Steps, rows


def _reduced(*distance: Let) -> Meaning:
    """Steps that end in `loss`, and their reduction to one number."""
    return lambda given: _total(given, distance)


def _total(given: Given, distance: Steps) -> Steps | None:
    if given["target"] is not ...:
        return None
    total = Let("loss_sum", "sum(loss)")
    match given["reduction"]:
        case "sum":
            return (*distance, total)
        case "mean":
            return (*distance, total, Let("mean_loss", "loss_sum / length"))
        case "batchmean":
            return (*distance, total, Let("mean_loss", "loss_sum / batch_size"))
    return None


_DIFFERENCE = Let("difference", "input - target")
_DISTANCE = Let("distance", "abs(difference)")


def _kl_div(given: Given) -> Steps | None:
    if given["log_target"]:
        return _total(given, (Let("loss", "exp(target) * (target - input)"),))
    # As torch.xlogy has it: where the target is 0 the logarithm does not count.
    entropy = Let("entropy", "where(target == 0.0, 0.0, target * log(target))")
    return _total(given, (entropy, Let("loss", "entropy - target * input")))


def _over_classes(given: Given, picked: Steps) -> Steps | None:
    """Steps that end in `picked`, the loss of one item, and their reduction over all items that are not ignored."""
    if given["target"] is not ... or given.get("label_smoothing"):
        return None
    weighted = given["weight"] is not None
    item = "picked * at(weight, target)" if weighted else "picked"
    counted = "where(target == ignore_index, 0.0, {})"
    loss = (*picked, Let("loss", counted.format(item)))
    total = Let("loss_sum", "total(loss)")
    match given["reduction"]:
        case "none":
            return loss
        case "sum":
            return (*loss, total)
        case "mean":
            count = Let("counted", counted.format("at(weight, target)" if weighted else "1.0"))
            return (*loss, total, count, Let("count", "total(counted)"), Let("mean_loss", "loss_sum / count"))
    return None


def _cross_entropy(given: Given) -> Steps | None:
    largest = Let("row_max", "exp_max(input)")
    total = Let("exponential_sum", "exp_sum(input)")
    return _over_classes(given, (largest, total, Let("picked", "log(exponential_sum) - (at(input, target) - row_max)")))


def _nll_loss(given: Given) -> Steps | None:
    return _over_classes(given, (Let("picked", "-at(input, target)"),))


def _binary_cross_entropy_with_logits(given: Given) -> Steps | None:
    if given["weight"] is not None or given["pos_weight"] is not None:
        return None
    softplus = Let("softplus", "where(input < 0.0, -input, 0.0) + log1p(exp(-abs(input)))")
    return _total(given, (softplus, Let("loss", "(1.0 - target) * input + softplus")))


def _triplet_margin_loss(given: Given) -> Steps | None:
    if given["swap"] or given["p"] != 2:
        return None
    loss = (
        Let("far", "sum((anchor - positive + eps) * (anchor - positive + eps))"),
        Let("near", "sum((anchor - negative + eps) * (anchor - negative + eps))"),
        Let("margin_left", "sqrt(far) - sqrt(near) + margin"),
        Let("loss", "where(margin_left < 0.0, 0.0, margin_left)"),
    )
    match given["reduction"]:
        case "none":
            return loss
        case "sum":
            return (*loss, Let("loss_sum", "total(loss)"))
        case "mean":
            return (*loss, Let("loss_sum", "total(loss)"), Let("mean_loss", "loss_sum / items"))
    return None


_SMOOTH_L1 = Let("loss", "where(distance < beta, 0.5 * distance * distance / beta, distance - 0.5 * beta)")
_HUBER = Let("loss", "where(distance <= delta, 0.5 * distance * distance, delta * (distance - 0.5 * delta))")
_OLD = "size_average=None reduce=None reduction='mean'"


def _row(name: str, meaning: Meaning | None, signature: str = "", /, over: Over = Over.ALL, **more: object) -> Row:
    return Row(name, Kind.LOSS, signature, meaning, over, **more)  # type: ignore[arg-type]


LOSSES = rows(
    _row("binary_cross_entropy", None),  # it raises for numbers outside of [0, 1]
    _row("binary_cross_entropy_with_logits", _binary_cross_entropy_with_logits,
         f"input target weight=None * {_OLD} pos_weight=None", word="binary cross entropy", passes=4, launches=6),
    _row("cosine_embedding_loss", None),
    _row("cross_entropy", _cross_entropy,
         "input target weight=None * size_average=None ignore_index=-100 reduce=None reduction='mean' label_smoothing=0.0",
         over=Over.CLASSES, word="cross entropy", passes=3, launches=3, alone=True),
    _row("hinge_embedding_loss", None),
    _row("huber_loss", _reduced(_DIFFERENCE, _DISTANCE, _HUBER), "input target * reduction='mean' delta=1.0",
         word="Huber loss", passes=2, launches=2),
    _row("kl_div", _kl_div, f"input target * {_OLD} log_target=False", word="KL divergence", passes=3, launches=4),
    _row("l1_loss", _reduced(_DIFFERENCE, Let("loss", "abs(difference)")), f"input target * {_OLD}", word="L1 loss",
         passes=3, launches=3),
    _row("margin_ranking_loss", None),
    _row("mse_loss", _reduced(_DIFFERENCE, Let("loss", "difference * difference")), f"input target * {_OLD}",
         word="mean squared error", passes=2, launches=2),
    _row("nll_loss", _nll_loss,
         "input target weight=None * size_average=None ignore_index=-100 reduce=None reduction='mean'",
         over=Over.CLASSES, word="NLL loss", launches=1),
    _row("smooth_l1_loss", _reduced(_DIFFERENCE, _DISTANCE, _SMOOTH_L1), f"input target * {_OLD} beta=1.0",
         word="smooth L1 loss", passes=2, launches=2),
    _row("triplet_margin_loss", _triplet_margin_loss,
         "anchor positive negative * margin=1.0 p=2.0 eps=1e-06 swap=False size_average=None reduce=None reduction='mean'",
         over=Over.FEATURES, word="triplet margin loss", passes=4, launches=8),
)  # fmt: skip
