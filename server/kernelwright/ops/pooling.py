"""Pools, which reduce windows that slide over the positions of an image."""

from kernelwright.ops.reductions import MEAN
from kernelwright.ops.row import Kind, Layout, Over, Row, rows

_MAX = "input * kernel_size stride=None padding=0 dilation=1 ceil_mode=False return_indices=False"
_AVERAGE = "input * kernel_size stride=None padding=0 ceil_mode=False count_include_pad=True divisor_override=None"
_KEEPS = (2,)  # ranks for which eager mode's result is known to be channels-last again


def _pools(rank: int) -> tuple[Row, ...]:
    layout = Layout.KEPT if rank in _KEEPS else Layout.UNKNOWN
    return (
        Row(f"max_pool{rank}d", Kind.POOLING, _MAX, as_given=True, spatial=rank, layout=layout, fold="nan_max",
            word="max pool"),
        Row(f"avg_pool{rank}d", Kind.POOLING, _AVERAGE, as_given=True, spatial=rank, layout=layout, fold="sum",
            word="average pool"),
        Row(f"adaptive_avg_pool{rank}d", Kind.POOLING, "input * output_size", MEAN, Over.POSITIONS, spatial=rank,
            layout=layout),
        Row(f"adaptive_max_pool{rank}d", Kind.POOLING, spatial=rank),
    )  # fmt: skip


POOLS = rows(*_pools(1), *_pools(2), *_pools(3), Row("lp_pool1d", Kind.POOLING), Row("lp_pool2d", Kind.POOLING))
