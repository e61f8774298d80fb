"""A convolution of the graph with its geometry, and how to write a call of it with another weight and bias."""

from dataclasses import dataclass

from kernelwright.micro.rewrite.algebra import View
from kernelwright.micro.rewrite.algebra_source import Spelling
from kernelwright.micro.rewrite.convolution_bias import parameter_names
from kernelwright.ops import Kind, row
from kernelwright.values import Node, TensorRef


@dataclass(frozen=True)
class Convolution:
    """Weight (out, in / groups, *kernel), or (in, out / groups, *kernel) when `transposed`; x is (batch, in, *size)."""

    node: Node
    x: int
    weight: int
    bias: int | None
    transposed: bool
    kernel: tuple[int, ...]
    size: tuple[int, ...]
    out_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    output_padding: tuple[int, ...]
    groups: int

    @property
    def rank(self) -> int:
        return len(self.kernel)

    @property
    def channel_axis(self) -> int:
        """The axis of the weight that counts output channels (of one group when transposed)."""
        return 1 if self.transposed else 0


def convolution(view: View, node: Node | None) -> Convolution | None:
    """`node` as a Convolution of a batch; None for anything else, also where padding is given in words."""
    if node is None or row(node.op).kind is not Kind.CONVOLUTION:
        return None
    transposed = node.op.startswith("conv_transpose")
    given = dict(zip(parameter_names(node), node.args, strict=False)) | dict(node.kwargs)
    x, weight, bias, groups = given["input"], given["weight"], given.get("bias"), given.get("groups", 1)
    assert isinstance(x, TensorRef)
    assert isinstance(weight, TensorRef)
    assert isinstance(groups, int)
    shape = view.shape(weight.id)
    rank = len(shape) - 2
    if rank != int(node.op[-2]) or len(view.shape(x.id)) != rank + 2:
        return None
    stride, padding, dilation, extra = (
        _each(given.get(n, d), rank) for n, d in (("stride", 1), ("padding", 0), ("dilation", 1), ("output_padding", 0))
    )
    if stride is None or padding is None or dilation is None or extra is None:
        return None
    return Convolution(
        node,
        x.id,
        weight.id,
        bias.id if isinstance(bias, TensorRef) else None,
        transposed,
        shape[2:],
        view.shape(x.id)[2:],
        view.shape(node.outputs[0])[2:],
        stride,
        padding,
        dilation,
        extra,
        groups,
    )


def written_call(found: Convolution, spelling: Spelling, x: str, weight: str, bias: str) -> str:
    """The same convolution of `x` with `weight` and `bias` ("" for none)."""
    module = spelling.module(found.node)
    if module is not None:
        options = [f"{module}.{name}" for name in parameter_names(found.node)[3:]]
        return f"{spelling.functional}.{found.node.op}({', '.join([x, weight, bias or 'None', *options])})"
    options = spelling.call_options(found.node, 3)
    return f"{spelling.functional}.{found.node.op}({', '.join([x, weight, bias or 'None', *options])})"


def _each(option: object, rank: int) -> tuple[int, ...] | None:
    if isinstance(option, int):
        return (option,) * rank
    if isinstance(option, tuple) and all(isinstance(i, int) for i in option):
        return option if len(option) == rank else option * rank if len(option) == 1 else None
    return None
