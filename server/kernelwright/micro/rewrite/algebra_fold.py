"""Scales and shifts after a convolution or a linear layer move into its weight and bias, which are far smaller."""

import math

from kernelwright.micro.rewrite.algebra import Factor, Match, Step, View, line_of, written
from kernelwright.micro.rewrite.algebra_convolution import Convolution, convolution, written_call
from kernelwright.micro.rewrite.algebra_source import Code, Spelling, atom, is_path
from kernelwright.values import Node, Refusal, TensorRef


def folded_into_weights(view: View, node: Node) -> Match | Refusal | None:
    """s * (W x + b) + t = (s W) x + (s b + t) for numbers and for vectors with one entry a channel."""
    if view.step(node) is None:
        return None
    steps, core = _foldable(view, node)
    if core is None or not steps or _goes_on(view, node, core, steps):
        return None
    found = convolution(view, core)
    weight = core.tensor(1)
    scaled = any(s.scales or s.op == "rsub" for s in steps)
    saved = _saving(view, core, steps)
    if saved <= 0:
        return Refusal(
            f"Folding {steps[0].op} into the weights of {core.op} would move more bytes than it saves: "
            f"the weights are {view.bytes(weight):,} bytes, the outputs {view.bytes(core.outputs[0]):,}.",
            line_of(node),
        )

    def write(spelling: Spelling) -> Code:
        x, old = spelling.value(core.tensor()), spelling.value(weight)
        factor, changed, bias = _folded(view, core, found, steps, spelling)
        shifted = "The shift is part of the bias: added once for each channel, not for each output."
        scaling = "Scale and shift are applied to the few weights instead of the many outputs."
        lines = [f"# {scaling if scaled else shifted}"]
        new = old
        by_alpha = scaled and _takes_alpha(view, core, steps)
        if by_alpha:
            lines = ["# The product is scaled as it is written; only the bias is scaled beforehand."]
        elif changed:
            new = spelling.fresh("weight")
            lines.append(f"{new} = {changed}")
        if bias and not is_path(bias):
            name = spelling.fresh("bias")
            lines.append(f"{name} = {bias}")
            bias = name
        if by_alpha:
            product = f"{spelling.torch}.addmm({bias}, {x}, {old}.T, alpha={factor.number})"
            return Code(product, tuple(lines))
        if found is not None:
            return Code(written_call(found, spelling, x, new, bias), tuple(lines))
        return Code(f"{spelling.functional}.linear({', '.join(filter(None, (x, new, bias)))})", tuple(lines))

    return Match(
        frozenset({core.id, *(s.node.id for s in steps)}),
        node.outputs[0],
        f"{', '.join(s.op for s in steps)} folded into the weights of {core.op}",
        write,
        math.prod(view.shape(core.outputs[0])) * len(steps),
        saved,
    )


def _foldable(view: View, node: Node) -> tuple[tuple[Step, ...], Node | None]:
    """The longest run of steps that ends at `node` and starts at a linear map, when each of them can be folded."""
    steps, id = [], node.outputs[0]
    producer: Node | None = node
    while (step := view.step(producer)) is not None:
        steps.append(step)
        id = step.value
        producer = view.private(id)
    steps.reverse()
    if producer is None or producer.inplace or not all(_per_channel(view, step, producer) for step in steps):
        return (), None
    if producer.op == "linear":
        return tuple(steps), producer
    found = convolution(view, producer)
    if found is None:
        return (), None
    vectors = any(s.scales and not s.by_scalar and not _single(view, s) for s in steps)
    return ((), None) if found.transposed and found.groups != 1 and vectors else (tuple(steps), producer)


def _saving(view: View, core: Node, steps: tuple[Step, ...]) -> int:
    """Bytes: a pass over the outputs for each step, less the pass over the weights that scales need."""
    scaled = any(s.scales or s.op == "rsub" for s in steps)
    spent = 2 * view.bytes(core.tensor(1)) if scaled and not _takes_alpha(view, core, steps) else 0
    return 2 * view.bytes(core.outputs[0]) * len(steps) - spent


def _takes_alpha(view: View, core: Node, steps: tuple[Step, ...]) -> bool:
    """Whether addmm can scale the product while writing it: for a matrix, a bias, and scales that are numbers."""
    biased = core.op == "linear" and core.args[2] is not None and len(view.shape(core.tensor())) == 2
    return biased and all(step.by_scalar or not step.scales for step in steps)


def _goes_on(view: View, node: Node, core: Node, steps: tuple[Step, ...]) -> bool:
    """Whether a longer run of steps is worth more: then the match that ends there says it all."""
    longer, value = steps, node.outputs[0]
    while (user := view.only_user(value)) is not None and (step := view.step(user, value)) is not None:
        if not _per_channel(view, step, core):
            return False
        longer, value = (*longer, step), user.outputs[0]
        if _saving(view, core, longer) > max(_saving(view, core, steps), 0):
            return True
    return False


def _per_channel(view: View, step: Step, core: Node) -> bool:
    if step.tensor is None:
        return True
    shape, out = view.shape(step.tensor), view.shape(core.outputs[0])
    axis = len(out) - 1 if core.op == "linear" else 1
    padded = (1,) * (len(out) - len(shape)) + shape
    return len(shape) <= len(out) and all(n == 1 or (i == axis and n == out[axis]) for i, n in enumerate(padded))


def _single(view: View, step: Step) -> bool:
    return step.tensor is None or math.prod(view.shape(step.tensor)) == 1


def _folded(
    view: View, core: Node, found: Convolution | None, steps: tuple[Step, ...], spelling: Spelling
) -> tuple[Factor, str, str]:
    """The scalar factor, the new weight ("" when unchanged) and the new bias ("" for none)."""
    weight = spelling.value(core.tensor(1))
    old = core.args[2] if len(core.args) > 2 else core.kwargs.get("bias")
    bias = spelling.value(old.id) if isinstance(old, TensorRef) else ""
    vector = bool(bias)
    factor, vectors = Factor(), []
    for step in steps:
        operand = "" if step.op == "neg" else written(step, spelling)
        flat = operand if step.by_scalar else _flat(view, step, operand)
        several = not _single(view, step)
        if step.scales and several:
            sign = "*" if step.op == "mul" else "/"
            vectors.append(f" {sign} {_along_channels(view, core, found, step, operand)}")
        elif step.op == "rsub" or step.scales:
            factor = factor.negated() if step.op == "rsub" else factor.then(step, flat)
        if bias or not step.scales:
            bias = _after(bias, step, flat)
            vector = vector or several
    changed = factor.times(weight)
    changed = "".join((atom(changed) if vectors and changed[0] == "-" else changed, *vectors))
    if bias and not vector:  # only numbers: the bias still needs an entry a channel
        channels = f"{weight}.shape[{found.channel_axis}]" if found else f"{weight}.shape[0]"
        if found is not None and found.transposed and found.groups != 1:
            channels = f"{channels} * {found.groups}"
        bias = f"{weight}.new_zeros({channels}) + {atom(bias)}"
    return factor, (changed if changed != weight else ""), bias


def _after(bias: str, step: Step, operand: str) -> str:
    if step.op == "neg":
        return f"-{atom(bias)}"
    if step.op == "rsub":
        return f"{operand} - {atom(bias)}" if bias else operand
    if step.op in ("mul", "div"):
        return f"{atom(bias)} {'*' if step.op == 'mul' else '/'} {operand}"
    if not bias:
        return operand if step.op == "add" else f"-{atom(operand)}"
    return f"{bias} {'+' if step.op == 'add' else '-'} {operand}"


def _flat(view: View, step: Step, operand: str) -> str:
    return operand if step.tensor is None or len(view.shape(step.tensor)) <= 1 else f"{operand}.flatten()"


def _along_channels(view: View, core: Node, found: Convolution | None, step: Step, operand: str) -> str:
    """The vector of scales in the shape in which it multiplies the weight."""
    rank = len(view.shape(core.tensor(1)))
    lead = (1, -1) if found is not None and found.transposed else (-1,)
    shape = (*lead, *(1,) * (rank - len(lead)))
    return f"{operand}.view({', '.join(map(str, shape))})"
