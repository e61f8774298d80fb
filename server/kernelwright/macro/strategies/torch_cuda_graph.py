"""Replays the whole forward of a module from a CUDA graph."""

from kernelwright.macro.strategy import Example, Family
from kernelwright.macro.wraps import wrapping
from kernelwright.micro.rewrite.helper_cuda_graph import CUDA_GRAPH
from kernelwright.micro.rewrite.whole_speed import few_to_replay, replay_gain

_BEFORE = '''import torch
import torch.nn as nn


class Model(nn.Module):
    """A small network: its kernels take less time than launching them."""

    def __init__(self, features):
        super().__init__()
        self.first = nn.Linear(features, features)
        self.second = nn.Linear(features, features)
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        y = torch.tanh(self.first(x))
        return self.norm(x + self.second(y))


def get_inputs():
    return [torch.randn(16, 64)]


def get_init_inputs():
    return [64]
'''

_AFTER = (
    _BEFORE.replace(
        "import torch\n", "".join(f"import {name}\n" for name in CUDA_GRAPH.imports) + "\nimport torch\n", 1
    )
    .replace("class Model", f"{CUDA_GRAPH.text}\n\n\nclass Model")
    .replace("    def forward(self, x)", "    @cuda_graph\n    def forward(self, x)")
)

STRATEGY = wrapping(
    "torch.cuda-graph",
    (CUDA_GRAPH,),
    replay_gain,
    few_to_replay,
    title="Replay the module from a CUDA graph",
    family=Family.LAUNCH,
    why="A CUDA graph launches all kernels of a call at once; eager mode takes longer to launch small ones than to run them.",
    doc="""\
In eager mode Python and PyTorch spend about 5 us on each kernel before it is launched. Where kernels are smaller than that,
the GPU waits. A CUDA graph is all launches of a call, recorded once: a replay costs about as much as one launch, and a
copy of each tensor that goes in or comes out.

A step is measured by the time on the device, and up to about 0.8 ms of launching is hidden behind the flush before a call. So
what a step reports is what lies beyond that, and the shorter gaps between kernels; who waits for each result gains more. For
LeNet-5 (KernelBench, level 3) that was nothing on an H100, and no step was kept.

The rewrite puts one line on the forward, `@cuda_graph`, and above the class a helper of some 250 lines, which belongs to the
file from then on. Each kind of call (shapes, strides, dtypes, numbers, stream) runs as written the first time, which shows
whether a replay would do the same, is captured the second time and replayed from then on; four graphs at most for one
module. Inputs are copied in and results copied out, so what an earlier call has returned is never overwritten. Names,
`state_dict`, copies and pickles of the module stay as they are: graphs are kept beside it.

Parameters and buffers are read where they lie, so that values loaded in place count. A parameter, buffer, submodule or
attribute that is replaced, also by `.to()`, `.data =` or `.train()`, leads to new graphs. **Not noticed:** what a list or dict
of the module holds, a number that is replaced by an equal one (2 by 2.0), variables outside of it, and settings such as TF32,
which stay those of the capture.

A replay updates buffers where they lie: behind any number of calls the statistics of a batch norm in training mode are those
that the forward as written leaves. The calls that warm up, and the capture, do not count: what the buffers hold is kept
beforehand, which takes room for one more copy of them, and put back.

The forward runs as written on the CPU, for gradients, under autocast, with forward hooks on the module or a part of it, while
another graph is captured, under `torch.compile`, with a `SyncBatchNorm`, where a number is read from a tensor, and where the
first call has drawn random numbers, has written to a tensor that it did not make, other than a buffer, or has returned one. So
training replays nothing, unless it is under `torch.no_grad()` or nothing requires a gradient.

**Refused:** functions; active dropout and other random numbers; batch norm in training mode with `momentum=None`, and all else
that reads a number from a tensor; writing to inputs or parameters; a forward that sets attributes, prints, or uses NumPy;
results that are views of inputs, share memory or have gaps; a forward that is decorated already or takes any number of
arguments; as few kernels as there are tensors to copy.
""",
    instruction=(
        "Replay the module's forward from a CUDA graph: warm up on a side stream, capture once for each kind of call, copy "
        "inputs in and clone results out, key on shapes, strides, dtypes and the addresses of parameters and buffers, and "
        "fall back to the forward as written on the CPU, for gradients, with hooks, and in another capture. Keep the "
        "state_dict as it is, and have warm-up and capture leave no trace in the buffers."
    ),
    example=Example(_BEFORE, _AFTER),
)
