"""The passes of a Triton kernel over one row: consecutive loops over the same range, read as data flow."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.micro.rewrite.syntax import expanded, same, written
from kernelwright.micro.rewrite.triton_source import Fragment, names_read
from kernelwright.source.trees import walk
from kernelwright.source.triton.reader import TL
from kernelwright.values import Refusal

_START = "_start"


@dataclass(frozen=True)
class Update:
    """An accumulator's step: `name = op(name, value)`. `value` is expanded down to what the loop body starts from."""

    name: str
    op: str  # "add" | "max"
    value: ast.expr
    raw: ast.expr
    statement: ast.stmt


@dataclass(frozen=True)
class Pass:
    """One loop over the row. `values` are the expanded values of the names its body sets."""

    loop: ast.For
    variable: str
    values: Mapping[str, ast.expr]
    updates: tuple[Update, ...]
    stores: tuple[ast.Call, ...]

    @property
    def line(self) -> int:
        return self.loop.lineno - 1


@dataclass(frozen=True)
class Run:
    """Loops over one range in one block of statements, with what stands between them."""

    block: list[ast.stmt]
    passes: tuple[Pass, ...]

    def index(self, number: int) -> int:
        return self.block.index(self.passes[number].loop)

    def between(self, first: int, second: int) -> list[ast.stmt]:
        return self.block[self.index(first) + 1 : self.index(second)]

    @property
    def bounds(self) -> list[ast.expr]:
        assert isinstance(self.passes[0].loop.iter, ast.Call)
        return self.passes[0].loop.iter.args


def find_run(fragment: Fragment) -> Run | Refusal:
    """The longest run of two or more loops over the same range."""
    best: list[ast.For] = []
    block: list[ast.stmt] = []
    loops = 0
    for node in fragment.nodes:
        for body in (getattr(node, "body", None), getattr(node, "orelse", None)):
            if not isinstance(body, list):
                continue
            found = [s for s in body if isinstance(s, ast.For) and isinstance(s.iter, ast.Call)]
            loops += len(found)
            for loop in found:
                alike = [s for s in found if same(s.iter, loop.iter)]
                if len(alike) > len(best):
                    best, block = alike, body
    if loops == 0:
        return Refusal("The kernel has no loop over a row.", line=fragment.node.lineno - 1)
    if len(best) < 2:
        return Refusal("No two loops of the kernel run over the same range.", line=fragment.node.lineno - 1)
    passes: list[Pass] = []
    for loop in best:
        one = _read(fragment, loop)
        if isinstance(one, Refusal):
            return one
        passes.append(one)
    return Run(block, tuple(passes))


def _read(fragment: Fragment, loop: ast.For) -> Pass | Refusal:
    if not isinstance(loop.target, ast.Name) or loop.orelse:
        return Refusal(f"The loop on line {loop.lineno} is not a plain one.", line=loop.lineno - 1)
    values: dict[str, ast.expr] = {loop.target.id: ast.Name(_START, ast.Load())}
    updates: list[Update] = []
    stores: list[ast.Call] = []
    for statement in loop.body:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        if isinstance(statement, ast.Expr) and fragment.called(statement.value) == TL + "store":
            assert isinstance(statement.value, ast.Call)
            stores.append(statement.value)
            continue
        target = _target(statement)
        if target is None:
            return Refusal(f"Line {statement.lineno} is more than an assignment or a store.", line=statement.lineno - 1)
        update = _update(fragment, statement, target, values)
        if update is not None:
            updates.append(update)
        elif isinstance(statement, ast.AugAssign) or _carried(statement, target, values):
            return Refusal(
                f"Line {statement.lineno} carries {target} from one chunk to the next.", line=statement.lineno - 1
            )
        else:
            assert isinstance(statement, ast.Assign | ast.AnnAssign)
            assert statement.value is not None
            values[target] = expanded(statement.value, values)
    return Pass(loop, loop.target.id, values, tuple(updates), tuple(stores))


def _target(statement: ast.stmt) -> str | None:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id
    if (
        isinstance(statement, ast.AugAssign | ast.AnnAssign)
        and isinstance(statement.target, ast.Name)
        and statement.value
    ):
        return statement.target.id
    return None


def _carried(statement: ast.stmt, target: str, values: Mapping[str, ast.expr]) -> bool:
    value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
    return value is not None and target in names_read(value) and target not in values


def _update(fragment: Fragment, statement: ast.stmt, target: str, values: Mapping[str, ast.expr]) -> Update | None:
    if target in values:
        return None
    if isinstance(statement, ast.AugAssign):
        if not isinstance(statement.op, ast.Add) or target in names_read(statement.value):
            return None
        return _checked(fragment, Update(target, "add", expanded(statement.value, values), statement.value, statement))
    if not isinstance(statement, ast.Assign):
        return None
    value = statement.value
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        pair, op = [value.left, value.right], "add"
    elif isinstance(value, ast.Call) and len(value.args) == 2 and not value.keywords and _is_maximum(fragment, value):
        pair, op = value.args, "max"
    else:
        return None
    rest = [part for part in pair if not (isinstance(part, ast.Name) and part.id == target)]
    if len(rest) != 1 or target in names_read(rest[0]):
        return None
    return _checked(fragment, Update(target, op, expanded(rest[0], values), rest[0], statement))


def _checked(fragment: Fragment, update: Update) -> Update | None:
    """An accumulator gathers loaded values; what advances a pointer or a counter does not count."""
    return update if any(fragment.called(n) == TL + "load" for n in walk(update.value)) else None


def _is_maximum(fragment: Fragment, call: ast.Call) -> bool:
    return fragment.called(call) == TL + "maximum" or (isinstance(call.func, ast.Name) and call.func.id == "max")


def same_but_other(left: ast.expr, right: ast.expr) -> bool:
    """Equal but for what masked lanes hold."""
    return same(left, right, ignored="other")


def reduction(fragment: Fragment, node: ast.expr, op: str) -> ast.Call | None:
    """The call when `node` is `tl.<op>(…)`."""
    return node if isinstance(node, ast.Call) and fragment.called(node) == TL + op and node.args else None


def where_zero(fragment: Fragment, node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    """(mask, value) when `node` is `tl.where(mask, value, 0)`."""
    if not isinstance(node, ast.Call) or fragment.called(node) != TL + "where" or len(node.args) != 3:
        return None
    zero = node.args[2]
    if isinstance(zero, ast.Constant) and zero.value == 0:
        return node.args[0], node.args[1]
    return None


def loads(fragment: Fragment, node: ast.expr) -> list[ast.Call]:
    return [n for n in walk(node) if isinstance(n, ast.Call) and fragment.called(n) == TL + "load"]


def is_minus_infinity(node: ast.expr) -> bool:
    return written(node) in (
        '-float("inf")',
        'float("-inf")',
        "-math.inf",
        "-torch.inf",
        "-np.inf",
        "-inf",
        '-tl.float32("inf")',
    )


def initial(fragment: Fragment, node: ast.expr) -> ast.expr:
    """The scalar that an accumulator starts from: through tl.full and tl.zeros."""
    if isinstance(node, ast.Call):
        if fragment.called(node) == TL + "full" and len(node.args) >= 2:
            return node.args[1]
        if fragment.called(node) in (TL + "zeros", TL + "zeros_like"):
            return ast.Constant(0.0)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "to":
            return initial(fragment, node.func.value)
    return node
