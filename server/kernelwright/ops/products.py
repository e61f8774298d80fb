"""Products of matrices, convolutions, attention and recurrent layers: what a tensor core or a library does."""

from kernelwright.ops.costs import attention, convolution, product, transposed_convolution
from kernelwright.ops.row import Kind, Row, rows

_CONVOLUTION = "input weight bias=None * stride=1 padding=0 dilation=1 groups=1"
_TRANSPOSED = "input weight bias=None * stride=1 padding=0 output_padding=0 groups=1 dilation=1"


def _product(name: str, signature: str = "", /, **more: object) -> Row:
    return Row(name, Kind.PRODUCT, signature, **{"flops": product(), **more})  # type: ignore[arg-type]


def _convolutions(rank: int) -> tuple[Row, Row]:
    return (
        Row(f"conv{rank}d", Kind.CONVOLUTION, _CONVOLUTION, as_given=True, spatial=rank, flops=convolution,
            module=f"Conv{rank}d", word=f"{rank}-D convolution"),
        Row(f"conv_transpose{rank}d", Kind.CONVOLUTION, _TRANSPOSED, as_given=True, spatial=rank,
            flops=transposed_convolution, module=f"ConvTranspose{rank}d", word=f"transposed {rank}-D convolution"),
    )  # fmt: skip


PRODUCTS = rows(
    _product("addbmm", flops=1),
    _product("addmm", "input mat1 mat2 * beta=1 alpha=1", matrices=(1, 2), flops=product(1)),
    _product("addmv", flops=1),
    _product("baddbmm", "input batch1 batch2 * beta=1 alpha=1", matrices=(1, 2), flops=product(1)),
    _product("bilinear", flops=1),
    _product("bmm", "input mat2", matrices=(0, 1)),
    _product("chain_matmul", flops=1),
    _product("dot", flops=1),
    _product("einsum", "equation first second=None third=None", as_given=True, equation=True),
    _product("linear", "input weight bias=None", matrices=(0, 1), module="Linear"),
    _product("matmul", "input other", aliases="linalg_matmul", matrices=(0, 1), sign="@"),
    _product("mm", "input mat2", matrices=(0, 1)),
    _product("multi_dot", aliases="linalg_multi_dot", flops=1),
    _product("mv"),
    _product("outer", flops=1, aliases="ger"),
    *_convolutions(1),
    *_convolutions(2),
    *_convolutions(3),
    Row("multi_head_attention_forward", Kind.ATTENTION),
    Row("scaled_dot_product_attention", Kind.ATTENTION, flops=attention),
    *(Row(name, Kind.RECURRENT) for name in ("gru", "lstm", "rnn_relu", "rnn_tanh")),
    *(Row(f"{name}_cell", Kind.RECURRENT) for name in ("gru", "lstm", "rnn_relu", "rnn_tanh")),
)
