"""Loops: run turn by turn where they are short, else once for a turn that stands for all of them."""

from dataclasses import dataclass

from tree_sitter import Node

from kernelwright.indices.calls import Calls
from kernelwright.indices.terms import Term, variables
from kernelwright.indices.typed import Value
from kernelwright.source.cuda.text import field, of_type, walk

_FEW = 4  # turns that are run one by one
_MOST_TURNS = 33  # of a loop whose variable is halved or doubled
_LEAVES = ("return_statement", "break_statement")
_NESTED = ("for_statement", "while_statement", "do_statement", "switch_statement")


@dataclass(frozen=True)
class _Steps:
    """The variables that each turn moves by the same number."""

    counter: str
    by: int
    others: dict[str, int]


class Loops(Calls):
    """Runs loops."""

    _loops = 0

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self.returned = []

    def statement(self, node: Node) -> None:
        """Run a statement of any kind; see `statements.py`, whose class builds on this one."""
        raise NotImplementedError

    def changed(self, *nodes: Node | None) -> set[str]:
        """The variables that something may give another value."""
        return {name for node in nodes for name in self._changes(node)}

    def loop(self, node: Node) -> None:
        start, test, update, body = (field(node, name) for name in ("initializer", "condition", "update", "body"))
        if test is not None and test.type == "condition_clause":
            test = field(test, "value")
        env, kinds = dict(self.env), dict(self.kinds)
        if start is not None:
            self.statement(start) if start.type == "declaration" else self.value(start)
        if body is None or node.type == "do_statement" or test is None:
            self._any_turn(node, body)
        else:
            turns = self._turns(test, update, body)
            is_left = any(one.type in _LEAVES for one in walk(body)) or any(of_type(body, "continue_statement"))
            steps = self._steps(update, body)
            is_short = turns is not None and (turns <= _FEW or steps is None)
            if turns is not None and is_short and not is_left:
                self._each_turn(test, update, body, turns)
            elif steps is None:
                self._any_turn(node, body)
            else:
                self._one_turn(test, update, body, steps)
        self.has_ended = False
        for name in set(self.env) - set(env):
            del self.env[name]
        if start is not None and start.type == "declaration":
            for one in of_type(start, "init_declarator"):
                for name in _names(self, field(one, "declarator")):
                    self.env |= {name: env[name]} if name in env else {}
                    self.kinds |= {name: kinds[name]} if name in kinds else {}

    def _turns(self, test: Node, update: Node | None, body: Node) -> int | None:
        """How often a loop turns, where the numbers of the launch decide that and it is not often."""
        if update is None:
            return None
        kept = dict(self.env), self.path, self.phase, self.is_quiet
        self.is_quiet = True
        self.forget(*self.changed(body))
        found = None
        for turn in range(_MOST_TURNS):
            going = self.condition(test).number
            if going is None:
                break
            if not going:
                found = turn
                break
            self.value(update)
        self.env, self.path, self.phase, self.is_quiet = kept
        return found

    def _each_turn(self, test: Node, update: Node | None, body: Node, turns: int) -> None:
        for _ in range(turns):
            self.condition(test)
            self._body(body)
            if update is not None:
                self.value(update)

    def _body(self, body: Node) -> None:
        self.has_ended = False
        self.statement(body)

    def _any_turn(self, node: Node, body: Node | None) -> None:
        """A loop that is not followed: its accesses are noted as ones whose conditions are not known."""
        names = self.changed(node)
        self.forget(*names)
        path, phase = self.path, self.phase
        self.path = (*path, self.terms.fresh("path"))
        if body is not None:
            self._body(body)
        self.forget(*names)
        self.path = (*path, self.terms.fresh("path")) if _returns(node) else path
        self.phase = phase if self.phase is phase else self.terms.fresh("phase")

    def _one_turn(self, test: Node, update: Node | None, body: Node, steps: _Steps) -> None:
        names = self.changed(body, update, test)
        before, path, phase = dict(self.env), self.path, self.phase
        first = before[steps.counter]
        stable = {name: Value(self.terms.unknown(f"turn {name} {body.start_byte}"), before[name].kind)
                  for name in names if name in before and name not in (steps.counter, *steps.others)}  # fmt: skip
        self.env |= stable
        bound = self._last(test, steps, first)
        self._loops += 1
        if bound is None:
            self.env = before
            self._any_turn(body, body)
            return
        if bound < 0:
            self.env = before
            return
        name = f"turn {self._loops}"
        turn = self.terms.variable(name, 0, bound)
        for each, by in ((steps.counter, steps.by), *steps.others.items()):
            self.env[each] = self._after(before[each], turn, by)
        inside = dict(self.env)
        going = self.condition(test)
        conditions: tuple[Term, ...] = (going, self.terms.replaced(going, {name: self.terms.number(0)}))
        if not _is_convex(going, name) or any(one.type in _LEAVES for one in walk(body)):
            conditions = (self.terms.fresh("path"),)
        barriers = self._barriers(body)
        self.env = inside
        self.path = (*path, *conditions)
        self.phase = self.terms.add(phase, self.terms.multiply(turn, barriers))
        self._body(body)
        after = self.env
        self.env = before
        for each in names:
            if each in after and each in before:
                last = self.terms.replaced(after[each].term, {name: self.terms.number(0)})
                self.env[each] = Value(
                    self.terms.unknown(f"after {each} {body.start_byte}", (before[each].term, last)), before[each].kind
                )
        self.path = (*path, self.terms.fresh("path")) if _returns(body) else path
        self.phase = phase if barriers.number == 0 else self.terms.fresh("phase")

    def _after(self, value: Value, turn: Term, by: int) -> Value:
        step = self.math.integer(by)
        if value.is_pointer:
            return self.moved(value, Value(self.terms.multiply(turn, step.term), step.kind))
        if value.kind is None:
            return value
        found = self.terms.add(value.term, self.terms.multiply(turn, step.term))
        return self.math.converted(Value(found, value.kind), value.kind)

    def _barriers(self, body: Node) -> Term:
        """How many barriers a turn of a loop comes by."""
        kept = dict(self.env), self.path, self.phase, self.is_quiet, len(self.returned)
        self.is_quiet, self.phase = True, self.terms.number(0)
        self._body(body)
        found = self.phase
        self.env, self.path, self.phase, self.is_quiet, count = kept
        del self.returned[count:]
        return found if found.number is not None else self.terms.fresh("phase")

    def _steps(self, update: Node | None, body: Node) -> _Steps | None:
        """What moves by a number in each turn: the counter in the head of a `for`, or one in the body of a `while`."""
        moved: dict[str, int] = {}
        changed = [name for node in (update, body) for name in self._changes(node)]
        places = [update] if update is not None else []
        top = body.named_children if body.type == "compound_statement" else [body]
        if not any(of_type(body, "continue_statement")):
            places += [
                one.named_children[0] for one in top if one.type == "expression_statement" and one.named_children
            ]
        for place in places:
            for one in place.named_children if place.type == "comma_expression" else [place]:
                step = self._step(one, set(changed))
                if step is not None and changed.count(step[0]) == 1 and step[0] in self.env:
                    moved[step[0]] = step[1]
        of_head = [name for name in moved if update is not None and name in self._changes(update)]
        test = field(body.parent, "condition")
        tested = _names(self, test) if test is not None else set()
        counter = next(
            (name for name in (*of_head, *moved) if name in tested and self.env[name].kind is not None), None
        )
        if counter is None or not moved[counter] or not self.env[counter].term.is_known:
            return None
        return _Steps(counter, moved.pop(counter), moved)

    def _changes(self, node: Node | None) -> list[str]:
        """The variables that are given values, as often as they are."""
        return [name for one in (walk(node) if node is not None else ()) for name in self._changed_by(one)]

    def _changed_by(self, node: Node) -> list[str]:
        """The variables that this node alone changes."""
        match node.type:
            case "assignment_expression":
                target = field(node, "left")
            case "update_expression":
                target = field(node, "argument")
            case "pointer_expression" if self.content(node).startswith("&"):
                target = field(node, "argument")
            case "call_expression":
                return [name for name in self.changed_by_call(node) if name not in self.sizes]
            case _:
                return []
        while target is not None and target.type in ("field_expression", "parenthesized_expression"):
            target = field(target, "argument") or next(iter(target.named_children), None)
        return [self.content(target)] if target is not None and target.type == "identifier" else []

    def _step(self, node: Node, changed: set[str]) -> tuple[str, int] | None:
        """The variable and the number of `i += 4`, `i++`, `i = i + 4`."""
        if node.type == "update_expression":
            argument = field(node, "argument")
            by_one = 1 if "++" in self.content(node) else -1
            return (self.content(argument), by_one) if argument is not None and argument.type == "identifier" else None
        left, right, operator = field(node, "left"), field(node, "right"), field(node, "operator")
        if node.type != "assignment_expression" or left is None or right is None or left.type != "identifier":
            return None
        name, sign = self.content(left), self.content(operator) if operator is not None else "="
        if sign == "=" and right.type == "binary_expression":
            one, by, inner = field(right, "left"), field(right, "right"), field(right, "operator")
            if one is None or by is None or inner is None or self.content(one) != name:
                return None
            right, sign = by, self.content(inner) + "="
        if sign not in ("+=", "-=") or _names(self, right) & changed:
            return None
        kept, self.is_quiet = self.is_quiet, True
        number = self.value(right).term.number
        self.is_quiet = kept
        return (name, number if sign == "+=" else -number) if number is not None else None

    def _last(self, test: Node, steps: _Steps, first: Value) -> int | None:
        """The number of the last turn that the ranges allow, -1 where there is none; None where no bound is read."""
        kept, self.is_quiet = self.is_quiet, True
        found = None
        for one in self._parts(test):
            left, right, operator = field(one, "left"), field(one, "right"), field(one, "operator")
            if left is None or right is None or operator is None:
                continue
            sign = self.content(operator)
            if self.content(right) == steps.counter:
                left, right, sign = right, left, sign.translate(str.maketrans("<>", "><"))
            if self.content(left) != steps.counter or sign not in ("<", "<=", ">", ">="):
                continue
            limit = self.value(right)
            if limit.kind is None or not limit.term.is_known or (sign[0] == "<") != (steps.by > 0):
                continue
            far = limit.term.high - first.term.low if steps.by > 0 else first.term.high - limit.term.low
            last = (far - (len(sign) == 1)) // abs(steps.by)
            found = last if found is None else min(found, last)
        self.is_quiet = kept
        return found

    def _parts(self, test: Node) -> list[Node]:
        """The a and b of `a && b`."""
        while test.type == "parenthesized_expression" and test.named_child_count == 1:
            test = test.named_children[0]
        left, right, operator = field(test, "left"), field(test, "right"), field(test, "operator")
        if (
            test.type == "binary_expression"
            and operator is not None
            and self.content(operator) == "&&"
            and left
            and right
        ):
            return [*self._parts(left), *self._parts(right)]
        return [test]


def _is_convex(term: Term, name: str) -> bool:
    """Whether a condition that holds at the first turn and at this one holds in between."""
    if term.operator == "&&":
        return all(_is_convex(one, name) for one in term.operands)
    if name not in variables(term):
        return True
    return term.operator in ("<", "<=", "==") and all(_is_linear(one, name) for one in term.operands)


def _is_linear(term: Term, name: str) -> bool:
    if name not in variables(term) or term.operator == "variable":
        return True
    if term.operator == "*":
        return term.operands[1].number is not None and _is_linear(term.operands[0], name)
    return term.operator == "+" and all(_is_linear(one, name) for one in term.operands)


def _names(run: Calls, node: Node | None) -> set[str]:
    return {run.content(one) for one in walk(node) if one.type == "identifier"} if node is not None else set()


def _returns(node: Node) -> bool:
    return any(one.type == "return_statement" for one in walk(node))
