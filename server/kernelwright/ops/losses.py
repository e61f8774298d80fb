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


_SMOOTH_L1 = Let("loss", "where(distance < beta, 0.5 * distance * distance / beta, distance - 0.5 * beta)")
_HUBER = Let("loss", "where(distance <= delta, 0.5 * distance * distance, delta * (distance - 0.5 * delta))")
_OLD = "size_average=None reduce=None reduction='mean'"


def _row(name: str, meaning: Meaning | None, signature: str = "", /, **more: object) -> Row:
    return Row(name, Kind.LOSS, signature, meaning, Over.ALL, **more)  # type: ignore[arg-type]


LOSSES = rows(
    _row("binary_cross_entropy", None),
    _row("binary_cross_entropy_with_logits", None),
    _row("cosine_embedding_loss", None),
    _row("cross_entropy", None),
    _row("hinge_embedding_loss", None),
    _row("huber_loss", _reduced(_DIFFERENCE, _DISTANCE, _HUBER), "input target * reduction='mean' delta=1.0",
         word="Huber loss", passes=2, launches=2),
    _row("kl_div", _kl_div, f"input target * {_OLD} log_target=False", word="KL divergence", passes=3, launches=4),
    _row("l1_loss", _reduced(_DIFFERENCE, Let("loss", "abs(difference)")), f"input target * {_OLD}", word="L1 loss",
         passes=3, launches=3),
    _row("margin_ranking_loss", None),
    _row("mse_loss", _reduced(_DIFFERENCE, Let("loss", "difference * difference")), f"input target * {_OLD}",
         word="mean squared error", passes=2, launches=2),
    _row("nll_loss", None),
    _row("smooth_l1_loss", _reduced(_DIFFERENCE, _DISTANCE, _SMOOTH_L1), f"input target * {_OLD} beta=1.0",
         word="smooth L1 loss", passes=2, launches=2),
    _row("triplet_margin_loss", None),
)  # fmt: skip
