"""The lines of a pass over a row that is walked in steps: each lane folds what it sees, and lanes are joined at the end."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from kernelwright.nest.form import Fold
from kernelwright.nest.passes import Pass
from kernelwright.ops.folds import FOLDS

if TYPE_CHECKING:
    from kernelwright.emit.row_body import RowBody

EXTREMES = {"largest": "max", "smallest": "min"}
"""The monoids of which places are asked for, and what is at them."""

_LOWEST = "-3.4028234663852886e38"  # finite, so that lowest - lowest is 0 and -inf - lowest -inf: never NaN


def pass_lines(rows: RowBody, one: Pass, ready: Collection[str]) -> list[str]:
    """The pass that makes the folds; the names in `ready` are there already."""
    match one.kind:
        case "online":
            return _online(rows, one, ready)
        case "moments":
            return _moments(rows, one, ready)
    fold = one.folds[0].expr
    assert isinstance(fold, Fold)
    if fold.monoid in EXTREMES:
        return _place(rows, one, fold, ready)
    return _single(rows, one, fold, ready)


def _single(rows: RowBody, one: Pass, fold: Fold, ready: Collection[str]) -> list[str]:
    name, table = one.folds[0].name, FOLDS[fold.monoid]
    rows.helper(table.device)
    lanes = f"tl.where(mask, {rows.body(fold)}, {table.fill})"
    start = f"tl.full({rows.lanes.shape}, {table.fill}" if table.identity else f"tl.zeros({rows.lanes.shape}"
    step = (
        f"{name}_tile += {lanes}"
        if fold.monoid == "sum"
        else f"{name}_tile = {table.joined.format(f'{name}_tile', lanes)}"
    )
    return [
        f"{name}_tile = {start}, dtype=tl.float32)",
        *rows.loop([one.body], ready, [step]),
        f"{name} = {table.reduced(f'{name}_tile', rows.lanes.axis, rows.lanes.keep)}",
    ]


def _online(rows: RowBody, one: Pass, ready: Collection[str]) -> list[str]:
    """Maximum and sum of exponentials, a lane at a time.

    Of the two exponentials of a step, exp(old maximum - new) and exp(x - new), one is always 1: one is computed.
    """
    highest, total = (fold.name for fold in one.folds)
    step = [
        f'value = tl.where(mask, {one.body}, float("-inf"))',
        "decay = tl.exp(-tl.abs(value - lane_max))",
        "lane_sum = tl.where(value > lane_max, lane_sum * decay + 1.0, lane_sum + decay)",
        "lane_max = tl.maximum(lane_max, value)",
    ]
    return [
        f"lane_max = tl.full({rows.lanes.shape}, {_LOWEST}, dtype=tl.float32)",
        f"lane_sum = tl.zeros({rows.lanes.shape}, dtype=tl.float32)",
        *rows.loop([one.body], ready, step),
        f"{highest} = tl.max(lane_max, axis={rows.lanes.axis}{rows.lanes.keep})",
        f"lane_sum = lane_sum * tl.exp(lane_max - {highest})",
        f"{total} = tl.sum(lane_sum, axis={rows.lanes.axis}{rows.lanes.keep})",
    ]


def _moments(rows: RowBody, one: Pass, ready: Collection[str]) -> list[str]:
    """Mean and sum of squared deviations; lanes are combined at the end (Chan et al. 1979).

    A lane that is not masked has counted every step, so that one division serves all lanes.
    """
    x, mean, squares = one.body, one.mean, one.folds[1].name
    step = [
        "steps += 1.0",
        "lane_count += tl.where(mask, 1.0, 0.0)",
        f"delta = tl.where(mask, {x} - lane_mean, 0.0)",
        "lane_mean += delta * (1.0 / steps)",
        f"lane_squares += tl.where(mask, delta * ({x} - lane_mean), 0.0)",
    ]
    axis = f"axis={rows.lanes.axis}{rows.lanes.keep}"
    counted = rows.count == "count"
    return [
        "steps = 0.0",
        *(f"lane_{part} = tl.zeros({rows.lanes.shape}, dtype=tl.float32)" for part in ("count", "mean", "squares")),
        *rows.loop([x], ready, step),
        *([f"count = tl.sum(lane_count, {axis})"] if counted else []),
        f"{mean} = tl.sum(lane_mean * lane_count, {axis}) / {'tl.maximum(count, 1.0)' if counted else rows.count}",
        f"lane_squares += lane_count * (lane_mean - {mean}) * (lane_mean - {mean})",
        f"{squares} = tl.sum(lane_squares, {axis})",
    ]


def _place(rows: RowBody, one: Pass, fold: Fold, ready: Collection[str]) -> list[str]:
    """Each lane keeps its best value and place; the first place wins, and a NaN beats every number, as in torch."""
    kind, x, name = EXTREMES[fold.monoid], rows.body(fold), one.folds[0].name
    table, sign = FOLDS[f"nan_{kind}"], ">" if kind == "max" else "<"
    rows.helper(table.device)
    step = [
        f"better = ({x} {sign} best) | (({x} != {x}) & (best == best)) | (place == length)",
        f"best = tl.where(mask & better, {x}, best)",
        "place = tl.where(mask & better, columns, place)",
    ]
    return [
        f"best = tl.full({rows.lanes.shape}, {table.fill}, dtype=tl.float32)",
        f"place = tl.zeros({rows.lanes.shape}, dtype=tl.int32) + length",
        *rows.loop([one.body], ready, step),
        f"extreme = tl.reduce(best, {rows.lanes.axis}, nan_{kind}{rows.lanes.keep})",
        "found = (best == extreme) | (best != best)",
        f"{name} = tl.min(tl.where(found, place, length), axis={rows.lanes.axis}{rows.lanes.keep})",
    ]
