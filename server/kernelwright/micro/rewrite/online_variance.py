"""Mean and variance in one pass: moments of chunks merged pairwise (Chan, Golub and LeVeque, 1979)."""

import ast

from kernelwright.micro.rewrite.online_parts import Online, fresh, is_name, merged_body, start_of
from kernelwright.micro.rewrite.syntax import renamed, same, written
from kernelwright.micro.rewrite.triton_passes import (
    TL,
    Pass,
    Run,
    loads,
    reduction,
    same_but_other,
    where_zero,
)
from kernelwright.micro.rewrite.triton_source import Fragment, names_read
from kernelwright.source.calls import argument
from kernelwright.source.trees import walk
from kernelwright.values import Refusal


def online_variance(fragment: Fragment, run: Run, first: Pass, second: Pass) -> Online | Refusal:
    total, squares = first.updates[0], second.updates[0]
    bounds = run.bounds
    if len(bounds) != 3 or not (isinstance(bounds[0], ast.Constant) and bounds[0].value == 0):
        return Refusal("Only a loop over range(0, N, BLOCK) tells how many values a chunk has.", line=first.line)
    length, block = written(bounds[1]), written(bounds[2])
    summed = reduction(fragment, total.value, "sum")
    values = summed.args[0] if summed is not None else total.value
    mean = _mean(fragment, run, total.name, length, summed is None)
    if mean is None:
        return Refusal(
            f"What line {total.statement.lineno} sums is not divided by {length} before the next loop.",
            line=total.statement.lineno - 1,
        )
    mean_name, mean_statement = mean
    squared = reduction(fragment, squares.value, "sum")
    deviations = squared.args[0] if squared is not None else squares.value
    deviation = _squared_deviation(fragment, deviations, mean_name)
    if deviation is None or not same_but_other(deviation, values):
        return Refusal(
            f"Line {squares.statement.lineno} does not sum the squares of x - {mean_name}.",
            line=squares.statement.lineno - 1,
        )
    masked = any(argument(load, 1, "mask") is not None for load in loads(fragment, values))
    if masked and not _masks_deviation(fragment, deviations):
        return Refusal(
            f"Masked lanes count in the sum on line {squares.statement.lineno}: wrap it in tl.where(mask, …, 0.0).",
            line=squares.statement.lineno - 1,
        )
    if masked and not _zero_outside(fragment, values):
        return Refusal(
            f"Masked lanes count in the sum on line {total.statement.lineno}: load them with other=0.0.",
            line=total.statement.lineno - 1,
        )
    start, squares_start = start_of(fragment, run, total), start_of(fragment, run, squares)
    if isinstance(start, Refusal):
        return start
    if isinstance(squares_start, Refusal):
        return squares_start
    dropped: list[ast.stmt] = [start, squares_start, mean_statement]
    lanes: list[str] = []
    if summed is None:
        lanes.append(mean_name)
    replaced: list[tuple[ast.expr, str]] = []
    if squared is None:
        lanes.append(squares.name)
        call = _reduced_later(fragment, run, squares.name)
        if call is None:
            return Refusal(f"How {squares.name} is summed after its loop cannot be told.", line=second.line)
        replaced.append((call, squares.name))
    t = fragment.aliases.spelled("triton.language") or "tl"
    count, chunk = fresh(fragment, "count"), fresh(fragment, f"chunk_{mean_name}")
    delta, weight = fresh(fragment, "delta"), fresh(fragment, "weight")
    merged = merged_body(fragment, first, second, {mean_name: chunk})
    if isinstance(merged, Refusal):
        return merged
    lines, names = merged
    summand = written(total.raw) if summed is not None else f"{t}.sum({written(total.raw)}, axis=0)"
    square = written(renamed(squares.raw, {**names, mean_name: chunk}))
    if squared is None:
        square = f"{t}.sum({square}, axis=0)"
    here = first.variable
    body = (
        f"{count} = {t}.minimum({length} - {here}, {block})",
        f"{chunk} = {summand} / {count}",
        f"{delta} = {chunk} - {mean_name}",
        f"{weight} = {count} / ({here} + {count})",
        *lines,
        f"{squares.name} += {square} + {delta} * {delta} * {here} * {weight}",
        f"{mean_name} += {delta} * {weight}",
    )
    starts = (
        (mean_name, "0.0" if mean_name in lanes else written(start.value)),
        (squares.name, "0.0" if squares.name in lanes else written(squares_start.value)),
    )
    comment = "One pass: each chunk's mean and squared deviations are merged into those of the row so far."
    return Online("variance", comment, starts, body, tuple(dropped), tuple(replaced))


def _mean(fragment: Fragment, run: Run, total: str, length: str, lanes: bool) -> tuple[str, ast.stmt] | None:
    for statement in run.between(0, 1):
        if total not in names_read(statement):
            continue
        if not isinstance(statement, ast.Assign) or not isinstance(statement.targets[0], ast.Name):
            return None
        value = statement.value
        if not isinstance(value, ast.BinOp) or not isinstance(value.op, ast.Div) or written(value.right) != length:
            return None
        part = value.left
        if lanes:
            call = reduction(fragment, part, "sum")
            part = call.args[0] if call is not None else part
            if call is None:
                return None
        return (statement.targets[0].id, statement) if isinstance(part, ast.Name) and part.id == total else None
    return None


def _reduced_later(fragment: Fragment, run: Run, name: str) -> ast.Call | None:
    """The one `tl.sum(name, axis=0)` after the second loop, when `name` is read nowhere else there."""
    after = [node for statement in run.block[run.index(1) + 1 :] for node in walk(statement)]
    reads = [n for n in after if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load)]
    calls = [n for n in after if isinstance(n, ast.Call) and fragment.called(n) == TL + "sum" and n.args]
    own = [call for call in calls if reads and call.args[0] is reads[0]]
    return own[0] if len(reads) == 1 and own else None


def _squared_deviation(fragment: Fragment, node: ast.expr, mean: str) -> ast.expr | None:
    """The x of `(x - mean)` squared, through tl.where(mask, …, 0.0)."""
    protected = where_zero(fragment, node)
    if protected is not None:
        return _squared_deviation(fragment, protected[1], mean)
    if (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and same(node.left, node.right)) or (
        isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) and written(node.right) in ("2", "2.0")
    ):
        inner = node.left
    else:
        return None
    protected = where_zero(fragment, inner)
    inner = protected[1] if protected is not None else inner
    if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub) and is_name(inner.right, mean):
        return inner.left
    return None


def _masks_deviation(fragment: Fragment, node: ast.expr) -> bool:
    if where_zero(fragment, node) is not None:
        return True
    return isinstance(node, ast.BinOp) and where_zero(fragment, node.left) is not None


def _zero_outside(fragment: Fragment, values: ast.expr) -> bool:
    if where_zero(fragment, values) is not None:
        return True
    return all(
        isinstance(other := argument(load, 2, "other"), ast.Constant) and other.value == 0
        for load in loads(fragment, values)
    )
