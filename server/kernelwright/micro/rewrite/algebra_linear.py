"""Sums and means of linear maps: a reduction over the features of a linear layer needs one product with one vector."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

from kernelwright.micro.rewrite.algebra import Factor, Match, Step, View, applied, dims_of, line_of, written
from kernelwright.micro.rewrite.algebra_identity import is_identity
from kernelwright.micro.rewrite.algebra_source import Code, Spelling, atom
from kernelwright.values import Node, Refusal, TensorRef


@dataclass(frozen=True)
class Product:
    """`x @ matrix + bias`: `transposed` when the matrix is stored with the features first (as nn.Linear does)."""

    node: Node
    x: int
    matrix: int
    bias: int | None
    transposed: bool
    nodes: frozenset[int]


def product(view: View, node: Node | None) -> Product | None:
    if node is None:
        return None
    if node.op == "linear":
        bias = node.tensor(2) if node.args[2] is not None else None
        return Product(node, node.tensor(), node.tensor(1), bias, True, frozenset({node.id}))
    if node.op not in ("matmul", "mm"):
        return None
    x, matrix = node.tensor(), node.tensor(1)
    if len(view.shape(matrix)) != 2 or len(view.shape(x)) < 2:
        return None
    turned = view.private(matrix)
    if turned is not None and turned.op == "t":
        return Product(node, x, turned.tensor(), None, True, frozenset({node.id, turned.id}))
    return Product(node, x, matrix, None, False, frozenset({node.id}))


def reduced_features(view: View, node: Node) -> Match | None:
    """sum_j (x W^T + b)_j = x (sum_j W_j) + sum_j b_j, likewise the mean; scalars in between are folded."""
    if not _plain_reduction(view, node):
        return None
    steps, start = view.chain(node.tensor())
    found = product(view, view.private(start))
    rank = len(view.shape(start))
    if found is None or node.kwargs["dim"] != (rank - 1,) or rank < 2:
        return None
    features = view.shape(start)[-1]
    if features == 1 or not all(_per_feature(view, step, features) for step in steps):
        return None
    after, output, squeezed = _absorbed(view, node)
    nodes = found.nodes | {s.node.id for s in steps} | {node.id} | {n.id for n in after}

    def write(spelling: Spelling) -> Code:
        matrix = spelling.value(found.matrix)
        dim = 0 if found.transposed else 1
        name = spelling.fresh("row" if found.transposed else "column")
        comment = (
            f"# The {node.op} over the features of a linear layer is one product with the {node.op} of its weights."
        )
        lines = [comment, f"{name} = {matrix}.{node.op}({dim})"]
        factor, offset = Factor(), f"{spelling.value(found.bias)}.{node.op}()" if found.bias is not None else ""
        every = [*steps, *(step for n in after if (step := view.step(n)) is not None)]
        shifts_first = _shifts_first(every)
        for step in every:
            operand = "" if step.op == "neg" else written(step, spelling)
            if step.scales:
                factor = factor.then(step, operand)
                offset = applied(step, atom(offset), operand) if offset and not shifts_first else offset
                continue
            if isinstance(step.other, TensorRef):
                operand = f"{operand}.{node.op}()"
            elif node.op == "sum":
                operand = f"{matrix}.shape[{dim}] * {operand}"
            if step.op == "rsub":
                factor = factor.negated()
                offset = f"{operand} - {atom(offset)}" if offset else operand
            else:
                offset = (
                    f"{offset} {'+' if step.op == 'add' else '-'} {operand}"
                    if offset
                    else (operand if step.op == "add" else f"-{atom(operand)}")
                )
        text = f"{spelling.value(found.x)} @ {name}"
        if shifts_first:
            text = factor.times(
                f"({text} + {offset})" if offset and not factor.is_one else f"{text} + {offset}" if offset else text
            )
        else:
            text = factor.times(text)
            text = f"{text} + {offset}" if offset else text
        return Code(text if squeezed else f"({text}).unsqueeze(-1)", tuple(lines))

    return Match(
        nodes,
        output,
        f"linear, {node.op} over its {features} features",
        write,
        saved_flops=_product_flops(view, found) * (features - 1) // features,
        saved_bytes=2 * view.bytes(start) * (1 + len(steps)),
    )


def reduced_rows(view: View, node: Node) -> Match | None:
    """mean_i linear(x_i) = linear(mean_i x_i): the reduction over anything but the features goes first."""
    if not _plain_reduction(view, node):
        return None
    steps, start = view.chain(node.tensor())
    found = product(view, view.private(start))
    dims = dims_of(node)
    rank = len(view.shape(start))
    if found is None or rank - 1 in dims or not dims or len(view.shape(found.x)) != rank:
        return None
    count = math.prod(view.shape(start)[d] for d in dims)
    operands = [view.shape(s.other.id) for s in steps if isinstance(s.other, TensorRef)]
    if count == 1 or any(len(shape) > 1 for shape in operands):
        return None

    def write(spelling: Spelling) -> Code:
        x = spelling.value(found.x)
        keepdim = ", keepdim=True" if node.kwargs["keepdim"] else ""
        name = spelling.fresh("mean")
        lines = [
            "# A linear layer and a mean over its rows commute: the mean first leaves fewer rows to multiply.",
            f"{name} = {x}.mean(dim={dims if len(dims) > 1 else dims[0]}{keepdim})",
        ]
        text = _call(found, name, spelling)
        for step in steps:
            text = applied(step, atom(text), "" if step.op == "neg" else written(step, spelling))
        if node.op == "sum":
            text = f"{atom(text)} * {_product(f'{x}.shape[{d}]' for d in dims)}"
        return Code(text, tuple(lines))

    return Match(
        found.nodes | {s.node.id for s in steps} | {node.id},
        node.outputs[0],
        f"{node.op} over the rows before the linear layer",
        write,
        saved_flops=_product_flops(view, found) * (count - 1) // count,
        saved_bytes=2 * view.bytes(start) * (1 + len(steps)),
    )


def reduced_matmul(view: View, node: Node) -> Match | Refusal | None:
    """sum_ij (A B)_ij = (sum_i A_i) (sum_j B_j) for products of two computed matrices, batched or not."""
    if not _is_reduction(node):
        return None
    source = node.tensor()
    found = view.private(source)
    if found is None or found.op not in ("matmul", "mm", "bmm"):
        return None
    left, right = found.tensor(), found.tensor(1)
    rank = len(view.shape(source))
    dims = set(dims_of(node))
    if min(len(view.shape(left)), len(view.shape(right))) < 2 or not dims or not dims <= {rank - 2, rank - 1}:
        return None
    turned = view.private(right)
    if len(view.shape(right)) == 2 and (dims == {rank - 1} or (turned is not None and turned.op == "t")):
        return None  # product(): handled by the rules above
    fewer = math.prod(view.shape(source)[d] for d in dims)
    if fewer == 1:
        return None
    if not view.floating(source):
        return Refusal("The product is of whole numbers, whose sums have another dtype than they.", line_of(node))

    def write(spelling: Spelling) -> Code:
        a, b = spelling.value(left), spelling.value(right)
        a = f"{a}.{node.op}(-2, keepdim=True)" if rank - 2 in dims else a
        b = f"{b}.{node.op}(-1, keepdim=True)" if rank - 1 in dims else b
        text = f"{a} @ {b}"
        if not node.kwargs["keepdim"]:
            axes = tuple(d - rank for d in sorted(dims))
            text = f"({text}).squeeze({axes if len(axes) > 1 else axes[0]})"
        return Code(
            text, (f"# The {node.op} over rows or columns of a product is taken of the factors, which are smaller.",)
        )

    inner = view.shape(left)[-1]
    return Match(
        frozenset({found.id, node.id}),
        node.outputs[0],
        f"matmul, {node.op}",
        write,
        saved_flops=2 * inner * math.prod(view.shape(source)) * (fewer - 1) // fewer,
        saved_bytes=2 * view.bytes(source),
    )


def _plain_reduction(view: View, node: Node) -> bool:
    return _is_reduction(node) and view.floating(node.tensor())


def _is_reduction(node: Node) -> bool:
    return node.op in ("sum", "mean") and node.kwargs.get("dtype") is None


def _shifts_first(steps: list[Step]) -> bool:
    """Whether the scales come after all that is added, so that one factor can stand behind the sum."""
    kinds = [step.scales for step in steps]
    return kinds == sorted(kinds) and not any(step.op == "rsub" for step in steps)


def _per_feature(view: View, step: Step, features: int) -> bool:
    """Scalars, and terms with one entry for each feature: their reduction is a number."""
    if step.tensor is None:
        return True
    shape = view.shape(step.tensor)
    return step.op in ("add", "sub", "rsub") and math.prod(shape) == features == shape[-1]


def _absorbed(view: View, node: Node) -> tuple[list[Node], int, bool]:
    """What follows the reduction and vanishes into it: scalar factors, and reductions of its one remaining element."""
    after: list[Node] = []
    output, squeezed = node.outputs[0], not node.kwargs["keepdim"]
    while (user := view.only_user(output)) is not None and not user.inplace:
        step = view.step(user, output)
        if step is not None and step.scales and step.by_scalar:
            after.append(user)
        elif not squeezed and is_identity(view, user) and user.kwargs.get("dim") == (len(view.shape(output)) - 1,):
            after.append(user)
            squeezed = not user.kwargs["keepdim"]
        else:
            break
        output = user.outputs[0]
    return after, output, squeezed


def _call(found: Product, x: str, spelling: Spelling) -> str:
    module = spelling.module(found.node)
    if module is not None:
        return f"{module}({x})"
    matrix = spelling.value(found.matrix)
    if found.node.op == "linear":
        bias = f", {spelling.value(found.bias)}" if found.bias is not None else ""
        return f"{spelling.functional}.linear({x}, {matrix}{bias})"
    return f"{x} @ {matrix}.T" if found.transposed else f"{x} @ {matrix}"


def _product(factors: Iterable[str]) -> str:
    return " * ".join(factors)


def _product_flops(view: View, found: Product) -> int:
    return 2 * math.prod(view.shape(found.node.outputs[0])) * view.shape(found.x)[-1]
