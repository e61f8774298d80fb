"""Merges the two reducing passes of a row softmax or a row variance into one online pass.

Softmax: running maximum with a rescaled sum (Milakov and Gimelshein, 2018). Variance: means and squared deviations of
chunks merged pairwise (Chan, Golub and LeVeque, 1979).
"""

import ast
from dataclasses import dataclass

from kernelwright.micro.rewrite.syntax import expanded, rebuilt, renamed, same, written
from kernelwright.micro.rewrite.triton_passes import (
    TL,
    Pass,
    Run,
    Update,
    initial,
    is_minus_infinity,
    keyword,
    loads,
    reduction,
    same_but_other,
    where_zero,
)
from kernelwright.micro.rewrite.triton_source import Fragment, assigned_names, names_read
from kernelwright.values import Refusal

_EXPONENTIALS = ("exp", "exp2", "extra.libdevice.exp", "extra.libdevice.exp2", "extra.cuda.libdevice.exp")


@dataclass(frozen=True)
class Online:
    """The merged pass, ready to be laid out.

    `starts`: the accumulators with their initial values; `body`: the lines that replace the first loop's update;
    `dropped`: statements outside of the loops that vanish; `replaced`: expressions after the loops that become a name.
    """

    what: str  # "softmax" | "variance"
    comment: str
    starts: tuple[tuple[str, str], ...]  # (name, initial value as written)
    body: tuple[str, ...]
    dropped: tuple[ast.stmt, ...]
    replaced: tuple[tuple[ast.expr, str], ...] = ()


def online(fragment: Fragment, run: Run) -> Online | Refusal:
    first, second = run.passes[0], run.passes[1]
    for one in (first, second):
        if one.stores:
            return Refusal(
                f"The loop on line {one.line + 1} writes to memory, so it cannot be merged.",
                line=one.stores[0].lineno - 1,
            )
        if len(one.updates) != 1:
            return Refusal(f"The loop on line {one.line + 1} does not gather exactly one value.", line=one.line)
    ops = first.updates[0].op, second.updates[0].op
    if ops == ("max", "add"):
        return _softmax(fragment, run, first, second)
    if ops == ("add", "add"):
        return _variance(fragment, run, first, second)
    return Refusal(
        f"The loops on lines {first.line + 1} and {second.line + 1} are neither maximum and sum nor mean and variance.",
        line=second.line,
    )


def _start(fragment: Fragment, run: Run, update: Update) -> ast.Assign | Refusal:
    """Where the accumulator gets its initial value, which lies before its own loop."""
    number = 0 if update.statement in run.passes[0].loop.body else 1
    stop = run.index(number)
    for statement in reversed(run.block[:stop]):
        if update.name not in assigned_names(statement):
            continue
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            return statement
        break
    return Refusal(f"Where {update.name} starts cannot be told.", line=update.statement.lineno - 1)


def _final(fragment: Fragment, run: Run, update: Update, op: str, number: int) -> tuple[str, ast.stmt] | Refusal:
    """The name and statement of `name = tl.<op>(lanes, axis=0)` after the loop, for an accumulator that is a vector."""
    for statement in run.block[run.index(number) + 1 :]:
        if update.name not in names_read(statement):
            continue
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            call = reduction(fragment, statement.value, op)
            if call is not None and isinstance(call.args[0], ast.Name):
                return statement.targets[0].id, statement
        break
    return Refusal(f"How {update.name} is reduced after its loop cannot be told.", line=update.statement.lineno - 1)


def tl(fragment: Fragment) -> str:
    return next((name for name, meaning in fragment.aliases.names.items() if meaning == "triton.language"), "tl")


def _fresh(fragment: Fragment, wanted: str) -> str:
    used = {n.id for n in fragment.nodes if isinstance(n, ast.Name)} | {
        n.arg for n in fragment.nodes if isinstance(n, ast.arg)
    }
    while wanted in used:
        wanted += "_"
    return wanted


def _softmax(fragment: Fragment, run: Run, first: Pass, second: Pass) -> Online | Refusal:
    largest, total = first.updates[0], second.updates[0]
    dropped: list[ast.stmt] = []
    lanes: list[str] = []
    maximum = reduction(fragment, largest.value, "max")
    maximised = maximum.args[0] if maximum is not None else largest.value
    peak, running = largest.name, largest.name
    if maximum is None:
        final = _final(fragment, run, largest, "max", 0)
        if isinstance(final, Refusal):
            return final
        peak, statement = final
        running = peak
        dropped.append(statement)
        lanes.append(peak)
    summed = reduction(fragment, total.value, "sum")
    terms = summed.args[0] if summed is not None else total.value
    name = total.name
    if summed is None:
        final = _final(fragment, run, total, "sum", 1)
        if isinstance(final, Refusal):
            return final
        name, statement = final
        dropped.append(statement)
        lanes.append(name)
    exponential = _exponential(fragment, terms, peak)
    if exponential is None:
        return Refusal(
            f"The sum on line {total.statement.lineno} is not one of exp(x - {peak}).", line=total.statement.lineno - 1
        )
    call, difference = exponential
    if not same_but_other(_unmasked(fragment, difference.left), _unmasked(fragment, maximised)):
        return Refusal(
            f"Line {total.statement.lineno} subtracts the maximum from something else than was maximised.",
            line=total.statement.lineno - 1,
        )
    if not same(difference.left, maximised) and not _protected(fragment, terms):
        return Refusal(
            f"The loops on lines {first.line + 1} and {second.line + 1} read masked lanes differently.",
            line=second.line,
        )
    start, total_start = _start(fragment, run, largest), _start(fragment, run, total)
    if isinstance(start, Refusal):
        return start
    if isinstance(total_start, Refusal):
        return total_start
    begin = initial(fragment, start.value)
    guarded = not (
        isinstance(begin, ast.Constant) or (isinstance(begin, ast.UnaryOp) and isinstance(begin.operand, ast.Constant))
    )
    t = tl(fragment)
    new = _fresh(fragment, f"new_{running}")
    shift = _fresh(fragment, "shift") if guarded else new
    merged = _merged(fragment, first, second, {peak: shift})
    if isinstance(merged, Refusal):
        return merged
    lines, names = merged
    chunk = written(largest.raw) if maximum is not None else f"{t}.max({written(largest.raw)}, axis=0)"
    term = written(renamed(total.raw, {**names, peak: shift}))
    if summed is None:
        term = f"{t}.sum({term}, axis=0)"
    rescale = written(_replaced(call, difference, f"{running} - {shift}"))
    body = [f"{new} = {t}.maximum({running}, {chunk})"]
    if guarded:
        body += [
            "# Before the first finite value both maxima are -inf, and their difference would be NaN.",
            f'{shift} = {t}.where({new} == -float("inf"), 0.0, {new})',
        ]
    body += [*lines, f"{name} = {name} * {rescale} + {term}", f"{running} = {new}"]
    starts = (
        (running, written(begin if running in lanes else start.value)),
        (name, written(initial(fragment, total_start.value) if name in lanes else total_start.value)),
    )
    comment = "One pass: the running maximum, and the sum, rescaled whenever the maximum grows."
    return Online("softmax", comment, starts, tuple(body), (start, total_start, *dropped))


def _exponential(fragment: Fragment, terms: ast.expr, peak: str) -> tuple[ast.Call, ast.BinOp] | None:
    """The exp call and the `x - peak` in it, when `terms` is linear in that call and reads `peak` nowhere else."""
    node = terms
    while True:
        if isinstance(node, ast.Call) and _is_exponential(fragment, node):
            break
        protected = where_zero(fragment, node)
        if protected is not None:
            node = protected[1]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "to":
            node = node.func.value
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            holds = [part for part in (node.left, node.right) if peak in names_read(part)]
            if len(holds) != 1:
                return None
            node = holds[0]
        else:
            return None
    found = [
        n for n in ast.walk(node) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub) and _is_name(n.right, peak)
    ]
    reads = sum(isinstance(n, ast.Name) and n.id == peak for n in ast.walk(terms))
    return (node, found[0]) if len(found) == 1 and reads == 1 else None


def _is_exponential(fragment: Fragment, call: ast.Call) -> bool:
    name = fragment.called(call) or ""
    return name.removeprefix(TL) in _EXPONENTIALS and len(call.args) == 1


def _is_name(node: ast.expr, name: str) -> bool:
    """`name`, or `name[:, None]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name) and node.id == name


def _unmasked(fragment: Fragment, node: ast.expr) -> ast.expr:
    """The value in `tl.where(mask, value, -inf)`: masked lanes are looked after apart."""
    if isinstance(node, ast.Call) and fragment.called(node) == TL + "where" and is_minus_infinity(node.args[2]):
        return node.args[1]
    return node


def _protected(fragment: Fragment, terms: ast.expr) -> bool:
    return where_zero(fragment, terms) is not None


def _replaced(call: ast.Call, old: ast.AST, new: str) -> ast.expr:
    instead = ast.parse(new, mode="eval").body
    return rebuilt(call, lambda node: instead if node is old else None)


def _merged(
    fragment: Fragment, first: Pass, second: Pass, changes: dict[str, str]
) -> tuple[list[str], dict[str, str]] | Refusal:
    """The second body's statements that the first lacks, and what its names are called in the first."""
    lines: list[str] = []
    names: dict[str, str] = {second.variable: first.variable} if second.variable != first.variable else {}
    values: dict[str, ast.expr] = {second.variable: second.values[second.variable]}
    kept: set[str] = set()
    for statement in second.loop.body:
        if not isinstance(statement, ast.Assign) or statement is second.updates[0].statement:
            continue
        target = statement.targets[0]
        assert isinstance(target, ast.Name)
        value = expanded(statement.value, values)
        values[target.id] = value
        if not names_read(value) & set(changes):
            twin = _twin(first, target.id, value)
            if twin is not None:
                names[target.id] = twin
                continue
        line = f"{target.id} = {written(renamed(statement.value, {**names, **changes}))}"
        if target.id in first.values and _read_by_rest(first, target.id):
            return Refusal(
                f"{target.id} on line {statement.lineno} is not what it is in the first loop.",
                line=statement.lineno - 1,
            )
        names.pop(target.id, None)
        kept.add(target.id)
        lines.append(line)
    clash = kept & set(names.values())
    if clash:
        return Refusal(f"The two loops mean different things by {sorted(clash)[0]}.", line=second.line)
    return lines, names


def _read_by_rest(first: Pass, name: str) -> bool:
    """Whether a line of the merged body may still read the first loop's `name` after the second's has replaced it."""
    return name in names_read(first.updates[0].raw)


def _twin(first: Pass, name: str, value: ast.expr) -> str | None:
    if name in first.values and same_but_other(first.values[name], value):
        return name
    return next((other for other, known in first.values.items() if same_but_other(known, value)), None)


def _variance(fragment: Fragment, run: Run, first: Pass, second: Pass) -> Online | Refusal:
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
    masked = any(keyword(load, "mask") is not None or len(load.args) > 1 for load in loads(fragment, values))
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
    start, squares_start = _start(fragment, run, total), _start(fragment, run, squares)
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
    t = tl(fragment)
    count, chunk = _fresh(fragment, "count"), _fresh(fragment, f"chunk_{mean_name}")
    delta, weight = _fresh(fragment, "delta"), _fresh(fragment, "weight")
    merged = _merged(fragment, first, second, {mean_name: chunk})
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
    after = [node for statement in run.block[run.index(1) + 1 :] for node in ast.walk(statement)]
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
    if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Sub) and _is_name(inner.right, mean):
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
        isinstance(other := keyword(load, "other"), ast.Constant) and other.value == 0
        for load in loads(fragment, values)
    )
