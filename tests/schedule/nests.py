"""Nests of modules, and what is not known of any device."""

from collections.abc import Callable, Sequence

from kernelwright.micro.rewrite.nested import NestRegion, nest_region
from kernelwright.micro.rewrite.pointwise_regions import region_of as run_of
from kernelwright.micro.rewrite.row_regions import region_of as rows_of
from kernelwright.nest import Nest
from kernelwright.place.source_map import SourceMap
from kernelwright.values import Refusal
from macro.torch_modules import module, observed


def nest(
    forward: str,
    setup: str = "pass",
    inputs: str = "torch.randn(8, 16)",
    region_of: Callable[[SourceMap, Sequence[int]], NestRegion | Refusal] = nest_region,
) -> Nest:
    """The Nest of a module's whole forward, as a region of one kind."""
    text = module(forward, setup, inputs)
    source = observed(text).source
    assert isinstance(source, SourceMap), source
    region = region_of(source, range(len(source.graph.nodes)))
    assert isinstance(region, NestRegion), region
    return region.nest


WEIGHT = "self.weight = nn.Parameter(torch.randn(64, 40))"
PRODUCT = nest("return torch.relu(x @ self.weight)", WEIGHT, "torch.randn(48, 64)")
DEEP = nest("return x @ self.weight", "self.weight = nn.Parameter(torch.randn(100, 40))", "torch.randn(48, 100)")
COMPUTED = nest("return (x + 1) @ self.weight", WEIGHT, "torch.randn(48, 64)")
ROWS = nest("return x.sum(1)", inputs="torch.randn(300, 100)")
CONVOLUTION = nest("return torch.relu(self.of(x))", "self.of = nn.Conv2d(16, 32, 3)", "torch.randn(2, 16, 20, 20)")
ALL = nest("return (x * 2).sum()", inputs="torch.randn(3000)")
LONG = nest("return x.sum(1)", inputs="torch.randn(3, 100000)")
STRIPS = nest("return x.mean(0)", inputs="torch.randn(4000, 12)")
TWICE = nest("return x.square().sum(1).sqrt().mean()", inputs="torch.randn(300, 100)")
SCAN = nest("return x.cumsum(1)", inputs="torch.randn(5, 3000)")
TALL = nest("return x.cumsum(1)", inputs="torch.randn(3, 300, 5)")
POOL = nest("return self.pool(x)", "self.pool = nn.MaxPool2d(3, 1)", "torch.randn(2, 3, 11, 9)")
RUN = nest("return torch.relu(x + 1)", "pass", "torch.randn(300, 100)", run_of)
_LAST = "torch.randn(2, 24, 20, 20).to(memory_format=torch.channels_last)"
TURNED = nest("return torch.relu(x).contiguous()", "pass", _LAST, run_of)
TURNED_POOL = nest("return self.pool(x).contiguous()", "self.pool = nn.MaxPool2d(2)", _LAST, run_of)
KEPT = nest("return torch.softmax(x, 1)", "pass", "torch.randn(300, 100)", rows_of)
FEW = nest("return torch.softmax(x, 1)", "pass", "torch.randn(2, 40000)", rows_of)
FOLDED = nest("return (x * 2).amax(1)", "pass", "torch.randn(3, 100000)", rows_of)
PLACE = nest("return (x * 2).argmax(1)", "pass", "torch.randn(3, 100000)", rows_of)
BETWEEN = nest("return torch.softmax(x, 1)", "pass", "torch.randn(4, 700, 40)", rows_of)
GROUPS = nest("return self.norm(x)", "self.norm = nn.GroupNorm(2, 8)", "torch.randn(4, 8, 5, 7)", rows_of)
CHANNELS = nest("return torch.softmax(x, 1)", "pass", _LAST, rows_of)

NESTS = {
    "product": PRODUCT, "deep product": DEEP, "product of computed elements": COMPUTED, "convolution": CONVOLUTION,
    "rows": ROWS, "all": ALL, "long rows": LONG, "strips": STRIPS,
    "twice": TWICE, "scan": SCAN, "tall scan": TALL, "pool": POOL,
    "run": RUN, "turned": TURNED, "turned pool": TURNED_POOL,
    "kept rows": KEPT, "few rows": FEW, "folded rows": FOLDED, "place": PLACE, "rows between": BETWEEN,
    "groups": GROUPS, "channels": CHANNELS,
}  # fmt: skip
