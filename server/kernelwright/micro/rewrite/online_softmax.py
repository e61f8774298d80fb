"""Maximum and sum of exponentials in one pass, the sum rescaled as the maximum grows (Milakov and Gimelshein, 2018)."""

import ast

from kernelwright.micro.rewrite.online_parts import Online, final_of, fresh, is_name, merged_body, start_of
from kernelwright.micro.rewrite.syntax import rebuilt, renamed, same, written
from kernelwright.micro.rewrite.triton_passes import (
    TL,
    Pass,
    Run,
    initial,
    is_minus_infinity,
    reduction,
    same_but_other,
    where_zero,
)
from kernelwright.micro.rewrite.triton_source import Fragment, names_read
from kernelwright.source.trees import walk
from kernelwright.values import Refusal

_EXPONENTIALS = ("exp", "exp2", "extra.libdevice.exp", "extra.libdevice.exp2", "extra.cuda.libdevice.exp")


def online_softmax(fragment: Fragment, run: Run, first: Pass, second: Pass) -> Online | Refusal:
    largest, total = first.updates[0], second.updates[0]
    dropped: list[ast.stmt] = []
    lanes: list[str] = []
    maximum = reduction(fragment, largest.value, "max")
    maximised = maximum.args[0] if maximum is not None else largest.value
    peak, running = largest.name, largest.name
    if maximum is None:
        final = final_of(fragment, run, largest, "max", 0)
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
        final = final_of(fragment, run, total, "sum", 1)
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
    start, total_start = start_of(fragment, run, largest), start_of(fragment, run, total)
    if isinstance(start, Refusal):
        return start
    if isinstance(total_start, Refusal):
        return total_start
    begin = initial(fragment, start.value)
    guarded = not (
        isinstance(begin, ast.Constant) or (isinstance(begin, ast.UnaryOp) and isinstance(begin.operand, ast.Constant))
    )
    t = fragment.aliases.spelled("triton.language") or "tl"
    new = fresh(fragment, f"new_{running}")
    shift = fresh(fragment, "shift") if guarded else new
    merged = merged_body(fragment, first, second, {peak: shift})
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
    found = [n for n in walk(node) if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Sub) and is_name(n.right, peak)]
    reads = sum(isinstance(n, ast.Name) and n.id == peak for n in walk(terms))
    return (node, found[0]) if len(found) == 1 and reads == 1 else None


def _is_exponential(fragment: Fragment, call: ast.Call) -> bool:
    return fragment.called(call).removeprefix(TL) in _EXPONENTIALS and len(call.args) == 1


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
