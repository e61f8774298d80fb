"""What the body of a function says of the parameters of an entry that its names stand for, statement by statement."""

import ast
import functools
from collections.abc import Callable, Sequence

from kernelwright.ops import Kind, of_kind, row
from kernelwright.source.trees import walk
from kernelwright.source.workload.guessing import OF_OPERATORS
from kernelwright.source.workload.pointers import names_in, uses_of_pointers
from kernelwright.source.workload.signature import device_function, signature_of
from kernelwright.source.workload.spelled import axes_of_slice, defines, dtype_named, innermost, whole_number
from kernelwright.source.workload.told import Bodies, Evidence, Term, Told

_DIVIDES = 64  # all usual sizes, as do the powers of two below it
_DEPTH = 3  # calls from body to body
_OF_TENSORS = frozenset(
    ("shape", "stride", "size", "numel", "dtype", "device", "is_contiguous", "is_cuda", "ndim", "dim", "data_ptr", "T")
)
_VIEWS = of_kind(Kind.LAYOUT)
_MAKERS = of_kind(Kind.CREATION) | {"device"}


class Body:
    """Goes through one body in order. `_sizes` are the terms that its local names stand for."""

    def __init__(
        self, text: str, found: Evidence, bound: dict[str, str], mark: str, depth: int, reader: Bodies
    ) -> None:
        self._text, self._found, self._bound, self._mark = text, found, bound, mark
        self._depth, self._reader = depth, reader
        self._sizes: dict[str, Term] = {}
        self._constants: dict[str, int] = {}
        self._shapes: dict[str, list[Term]] = {}

    def run(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        match node:
            case ast.FunctionDef() | ast.ClassDef() | ast.AsyncFunctionDef():
                return
            case ast.Assign(targets=[target], value=value):
                self._expression(value)
                self._assign(target, value)
            case ast.Assert(test=test):
                self._expression(test)
                self._holds(test, goes_on=True)
            case ast.If(test=test, body=body, orelse=orelse):
                self._expression(test)
                if body and isinstance(body[0], ast.Raise):
                    self._holds(test, goes_on=False)
                self.run(body)
                self.run(orelse)
            case ast.For() | ast.While() | ast.With() | ast.Try():
                if isinstance(node, ast.For):
                    self._gone_through(node.iter)
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self._expression(child)
                self.run(node.body)
                for rest in ("orelse", "finalbody"):
                    self.run(getattr(node, rest, ()))
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        self._expression(child)

    # What stands for what.

    def _assign(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
                for one, other in zip(targets, values, strict=True):
                    self._assign(one, other)
            case ast.Tuple(elts=targets), ast.Name(id=name) if name in self._bound and name not in self._shapes:
                told = self._told(self._bound[name])
                told.is_sequence, told.items = True, len(targets)
            case ast.Tuple(elts=targets), _ if (terms := self._shape(value, len(targets), targets)) is not None:
                for one, term in zip(targets, terms, strict=True):
                    if isinstance(one, ast.Name) and one.id != "_" and term is not None:
                        self._name(one.id, term)
            case ast.Name(id=name), _:
                term, same, shape = self._term(value), self._same(value), self._reshaped(value)
                if term is not None and not isinstance(term, int):
                    self._name(name, term)
                    return
                for known in (self._sizes, self._constants, self._bound, self._shapes):
                    known.pop(name, None)
                if isinstance(term, int):
                    self._constants[name] = term
                elif same is not None:
                    self._bound[name] = same
                elif shape is not None:
                    self._shapes[name] = shape

    def _name(self, name: str, term: Term) -> None:
        """A local name that is taken up again for a size stands for equal ones, as does the name of a parameter."""
        if name in self._sizes:
            self._found.equal.append((self._sizes[name], term))
        elif name in self._bound:
            self._found.equal.append((self._bound[name], term))
        else:
            self._sizes[name] = term

    def _same(self, value: ast.expr) -> str | None:
        """The parameter whose shape a value has, written as one of its methods."""
        match innermost(value):
            case ast.Name(id=name):
                return self._bound.get(name)
            case ast.IfExp(body=ast.Name(id=name)) | ast.IfExp(orelse=ast.Name(id=name)):
                return self._bound.get(name)
        return None

    def _reshaped(self, value: ast.expr) -> list[Term] | None:
        match innermost(value):
            case ast.Call(func=ast.Attribute(value=inner, attr="reshape" | "view"), args=args) if self._same(inner):
                sizes = args[0].elts if len(args) == 1 and isinstance(args[0], ast.Tuple) else args
                terms = [self._term(size) for size in sizes]
                return [self._new() if term is None or term == -1 else term for term in terms]
            case ast.Name(id=name):
                return self._shapes.get(name)
        return None

    def _new(self) -> str:
        return f"{self._mark}{next(self._reader.numbers)}"

    def _shape(self, value: ast.expr, count: int, targets: Sequence[ast.expr]) -> Sequence[Term | None] | None:
        """The terms of `x.shape` that is taken apart into so many."""
        match value:
            case (
                ast.Attribute(value=inner, attr="shape")
                | ast.Call(func=ast.Attribute(value=inner, attr="size"), args=[])
            ):
                starred = next((i for i, one in enumerate(targets) if isinstance(one, ast.Starred)), None)
                name = self._same(inner)
                if name is None:
                    shape = self._reshaped(inner)
                    return shape if shape is not None and len(shape) == count and starred is None else None
                if starred is None:
                    self._told(name).rank = self._told(name).rank or count
                    return [(name, axis) for axis in range(count)]
                self._at_least(name, count - 1)
                return [(name, i) if i < starred else None if i == starred else (name, i - count) for i in range(count)]
            case ast.Subscript(value=ast.Attribute(value=inner, attr="shape"), slice=ast.Slice() as part):
                name, axes = self._same(inner), axes_of_slice(part, count)
                if name is None or axes is None or any(isinstance(one, ast.Starred) for one in targets):
                    return None
                self._at_least(name, max((axis + 1 if axis >= 0 else -axis for axis in axes), default=0))
                return [(name, axis) for axis in axes]
        return None

    def _term(self, value: ast.expr) -> Term | None:
        match value:
            case ast.Constant(value=int(number)) if not isinstance(number, bool):
                return number
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
                return -number
            case ast.Name(id=name):
                return self._sizes.get(name) or self._bound.get(name) or self._constants.get(name)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self._made(lambda made, one, other: (made, one, other), left, right)
            case ast.BinOp(
                left=ast.BinOp(left=ast.BinOp(left=left, op=ast.Add()), op=ast.Sub(), right=ast.Constant(value=1)),
                op=ast.FloorDiv(),
                right=right,
            ):  # rounded up
                return self._made(lambda made, whole, part: (whole, part, made), left, right)
            case (
                ast.BinOp(left=left, op=ast.FloorDiv(), right=right)
                | ast.Call(func=ast.Attribute(attr="cdiv") | ast.Name(id="cdiv"), args=[left, right])
            ):
                return self._made(lambda made, whole, part: (whole, part, made), left, right)
            case (
                ast.Subscript(value=ast.Attribute(value=inner, attr="shape"), slice=axis)
                | ast.Call(func=ast.Attribute(value=inner, attr="size"), args=[axis])
            ):
                at, of, shape = whole_number(axis), self._same(inner), self._reshaped(inner)
                if at is None or of is not None:
                    return (of, at) if of is not None and at is not None else None
                return shape[at] if shape is not None and -len(shape) <= at < len(shape) else None
        return None

    def _made(
        self, related: Callable[[Term, Term, Term], tuple[Term, Term, Term]], left: ast.expr, right: ast.expr
    ) -> Term | None:
        """A new term for what is computed of two others."""
        if isinstance(left, ast.BinOp) and isinstance(left.left, ast.BinOp):
            return None  # of few factors only
        one, other = self._term(left), self._term(right)
        if one is None or other is None:
            return None
        made = self._new()
        self._found.products.append(related(made, one, other))
        return made

    # What holds.

    def _holds(self, test: ast.expr, *, goes_on: bool) -> None:
        match test:
            case ast.BoolOp(op=ast.And() | ast.Or() as op, values=values):
                if isinstance(op, ast.And) is goes_on:
                    for value in values:
                        self._holds(value, goes_on=goes_on)
                elif goes_on:  # one of several is enough
                    self._holds(values[0], goes_on=True)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self._holds(operand, goes_on=not goes_on)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                for one, compared, other in zip([left, *comparators], ops, comparators, strict=False):
                    if isinstance(compared, ast.Eq if goes_on else ast.NotEq):
                        self._equal(one, other)
                    elif isinstance(compared, ast.In if goes_on else ast.NotIn) and isinstance(
                        other, ast.Tuple | ast.List | ast.Set
                    ):
                        self._one_of(one, other.elts)
                    elif isinstance(compared, ast.GtE if goes_on else ast.Lt) and (rank := self._ranked(one)):
                        self._at_least(rank, whole_number(other) or 0)

    def _equal(self, one: ast.expr, other: ast.expr) -> None:
        for left, right in ((one, other), (other, one)):
            if (name := self._ranked(left)) is not None:
                if (rank := whole_number(right)) is not None:
                    self._told(name).rank = self._told(name).rank or rank
                elif (like := self._ranked(right)) is not None:
                    self._found.same_rank.append((name, like))
                return
            if (name := self._typed(left)) is not None:
                self._one_of(left, [right])
                return
            if (name := self._whole_shape(left)) is not None:
                match right:
                    case ast.Tuple(elts=sizes) | ast.List(elts=sizes):
                        self._told(name).rank = self._told(name).rank or len(sizes)
                        for axis, size in enumerate(sizes):
                            self._tie((name, axis), self._term(size))
                        return
                    case _ if (like := self._whole_shape(right)) is not None:
                        self._found.same_shape.append((name, like))
                        return
        match one, other:
            case (
                ast.Subscript(value=ast.Attribute(value=left, attr="shape"), slice=ast.Slice() as part),
                ast.Subscript(value=ast.Attribute(value=right, attr="shape"), slice=ast.Slice() as other_part),
            ):
                names, axes, others = (
                    (self._same(left), self._same(right)),
                    axes_of_slice(part),
                    axes_of_slice(other_part),
                )
                if names[0] and names[1] and axes and others and len(axes) == len(others):
                    for its, theirs in zip(axes, others, strict=True):
                        self._tie((names[0], its), (names[1], theirs))
            case ast.BinOp(left=size, op=ast.Mod(), right=factor), ast.Constant(value=0):
                term, number = self._term(size), self._term(factor)
                number = self._found.defaults.get(number) if isinstance(number, str) else number
                if term is not None and not isinstance(term, int) and isinstance(number, int) and number > _DIVIDES:
                    self._found.values.append((term, (number,)))
                elif isinstance(number, tuple) or (isinstance(number, str) and number not in self._found.of):
                    self._tie(term, number)  # a size divides itself
            case _:
                self._tie(self._term(one), self._term(other))

    def _tie(self, one: Term | None, other: Term | None) -> None:
        if one is not None and other is not None and not (isinstance(one, int) and isinstance(other, int)):
            self._found.equal.append((one, other))

    def _one_of(self, one: ast.expr, options: Sequence[ast.expr]) -> None:
        if (name := self._ranked(one)) is not None:
            self._told(name).ranks += [rank for option in options if (rank := whole_number(option)) is not None]
        elif (name := self._typed(one)) is not None:
            self._told(name).dtypes += [kind for option in options if (kind := dtype_named(option)) is not None]
        elif (term := self._term(one)) is not None:
            values = tuple(number for option in options if (number := whole_number(option)) is not None)
            if values and not isinstance(term, int):
                self._found.values.append((term, values))

    def _ranked(self, value: ast.expr) -> str | None:
        match value:
            case (
                ast.Attribute(value=inner, attr="ndim")
                | ast.Call(func=ast.Attribute(value=inner, attr="dim" | "ndimension"), args=[])
                | ast.Call(func=ast.Name(id="len"), args=[ast.Attribute(value=inner, attr="shape")])
                | ast.Call(
                    func=ast.Name(id="len"), args=[ast.Call(func=ast.Attribute(value=inner, attr="size"), args=[])]
                )
            ):
                return self._same(inner)
        return None

    def _typed(self, value: ast.expr) -> str | None:
        return self._same(value.value) if isinstance(value, ast.Attribute) and value.attr == "dtype" else None

    def _whole_shape(self, value: ast.expr) -> str | None:
        match value:
            case (
                ast.Attribute(value=inner, attr="shape")
                | ast.Call(func=ast.Attribute(value=inner, attr="size"), args=[])
            ):
                return self._same(inner)
        return None

    # What is used how.

    def _expression(self, tree: ast.expr) -> None:
        for node in walk(tree):
            match node:
                case (
                    ast.Subscript(value=ast.Attribute(value=inner, attr="shape"), slice=axis)
                    | ast.Call(func=ast.Attribute(value=inner, attr="size" | "stride"), args=[axis])
                    | ast.Call(func=ast.Attribute(value=inner, attr="transpose"), args=[_, ast.Constant() as axis])
                ):
                    if (name := self._same(inner)) is not None and (number := whole_number(axis)) is not None:
                        self._at_least(name, number + 1 if number >= 0 else max(-number, 2))
                case ast.Attribute(value=ast.Name(id=name), attr=attribute) if attribute in _OF_TENSORS | _VIEWS:
                    if name in self._bound:
                        self._told(self._bound[name]).is_tensor = True
                case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                    self._multiplied(left, right)
                case ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[other]) if name in self._bound:
                    self._compared(self._bound[name], op, other)
                case ast.comprehension(iter=iterated):
                    self._gone_through(iterated)
                case ast.Call(func=ast.Name(id="len") | ast.Attribute(attr="prod"), args=[ast.Name(id=name)]) if (
                    name in self._bound
                ):
                    self._gone_through(node.args[0])
                    self._told(self._bound[name]).is_shape |= isinstance(node.func, ast.Attribute)
                case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=int(number))) if (
                    name in self._bound and not isinstance(number, bool)
                ):
                    told = self._told(self._bound[name])
                    told.items = max(told.items, number + 1)
                case ast.Call(func=ast.Attribute(value=ast.Name(id="torch" | "F"), attr=operation), args=args) if (
                    operation not in _MAKERS
                ):
                    for place, argument in enumerate(args):
                        for name in names_in(argument) & self._bound.keys():
                            self._told(self._bound[name]).is_tensor |= place == 0 or not OF_OPERATORS.match(name)
                    self._multiplied(*(args[place] for place in row(operation).matrices if place < len(args)))
                case ast.Call():
                    self._passed_on(node)

    def _gone_through(self, value: ast.expr) -> None:
        if isinstance(value, ast.Name) and value.id in self._bound:
            self._told(self._bound[value.id]).is_sequence = True

    def _compared(self, name: str, op: ast.cmpop, other: ast.expr) -> None:
        values = other.elts if isinstance(other, ast.Tuple | ast.List | ast.Set) else [other]
        if isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn):
            self._told(name).options += [
                one.value for one in values if isinstance(one, ast.Constant) and isinstance(one.value, str)
            ]

    def _multiplied(self, *operands: ast.expr) -> None:
        for operand in operands:
            for name in names_in(operand) & self._bound.keys():
                told = self._told(self._bound[name])
                told.is_product = told.is_tensor = True

    def _passed_on(self, call: ast.Call) -> None:
        launched = isinstance(call.func, ast.Subscript)
        func = call.func.value if isinstance(call.func, ast.Subscript) else call.func
        applied = isinstance(func, ast.Attribute) and func.attr in ("apply", "forward")
        name = func.value if applied and isinstance(func, ast.Attribute) else func
        if not isinstance(name, ast.Name) or not defines(self._text, name.id) or self._depth >= _DEPTH:
            return
        signature = signature_of(self._text, name.id, decorated=True)
        if signature is None or signature.call is None or signature.is_triton is not launched:
            return
        names = [parameter.arg for parameter in signature.call.positional]
        passed = [*zip(names, call.args, strict=False), *((k.arg, k.value) for k in call.keywords if k.arg)]
        bound = {formal: same for formal, value in passed if (same := self._same(value)) is not None}
        if launched:
            device = functools.partial(device_function, self._text)
            for formal, use in uses_of_pointers(signature.call.tree, frozenset(bound), device).items():
                told = self._told(bound[formal])
                told.is_index |= bool(use & {"index", "place"})
                told.is_place |= "place" in use
                told.is_read |= "load" in use
                told.is_written |= "store" in use
                told.is_bits |= "bits" in use
                if "bytes" in use and not told.dtypes:
                    told.dtypes.append("int8")
                told.is_tensor |= bool(use - {"passed"})
                told.is_number |= not use
        elif bound:
            self._reader.read(signature.call.tree, bound, self._depth + 1)

    def _told(self, name: str) -> Told:
        return self._found.of[name]

    def _at_least(self, name: str, rank: int) -> None:
        told = self._told(name)
        told.is_tensor = True
        told.least = max(told.least, rank)
