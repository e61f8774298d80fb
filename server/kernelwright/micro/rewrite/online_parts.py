"""What merging two passes over a row takes, whatever they gather: starts, endings, and one loop body out of two."""

import ast
from dataclasses import dataclass

from kernelwright.micro.rewrite.syntax import expanded, renamed, written
from kernelwright.micro.rewrite.triton_passes import (
    Pass,
    Run,
    Update,
    reduction,
    same_but_other,
)
from kernelwright.micro.rewrite.triton_source import Fragment, assigned_names, names_read
from kernelwright.values import Refusal


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


def start_of(fragment: Fragment, run: Run, update: Update) -> ast.Assign | Refusal:
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


def final_of(fragment: Fragment, run: Run, update: Update, op: str, number: int) -> tuple[str, ast.stmt] | Refusal:
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


def fresh(fragment: Fragment, wanted: str) -> str:
    used = {n.id for n in fragment.nodes if isinstance(n, ast.Name)} | {
        n.arg for n in fragment.nodes if isinstance(n, ast.arg)
    }
    while wanted in used:
        wanted += "_"
    return wanted


def is_name(node: ast.expr, name: str) -> bool:
    """`name`, or `name[:, None]`."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name) and node.id == name


def merged_body(
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
