"""Has torch.compile make the kernels of a module's forward: a library's step, raced against our own."""

from kernelwright.macro.strategy import Example, Family
from kernelwright.macro.wraps import wrapping
from kernelwright.micro.rewrite.helper_compiled import COMPILED, COMPILED_AND_REPLAYED
from kernelwright.micro.rewrite.whole_speed import compiled_gain, few_to_compile

_BEFORE = '''import torch
import torch.nn as nn


class Model(nn.Module):
    """A gated layer with a residual connection."""

    def __init__(self, features):
        super().__init__()
        self.value = nn.Linear(features, features)
        self.gate = nn.Linear(features, features)

    def forward(self, x):
        y = torch.sigmoid(self.gate(x)) * self.value(x)
        return torch.tanh(x + y)


def get_inputs():
    return [torch.randn(16, 64)]


def get_init_inputs():
    return [64]
'''

_IMPORTS = "".join(f"import {name}\n" for name in COMPILED_AND_REPLAYED.imports)

_AFTER = (
    _BEFORE.replace("import torch\n", f"{_IMPORTS}\nimport torch\n", 1)
    .replace("class Model", f"{COMPILED_AND_REPLAYED.text}\n\n\nclass Model")
    .replace("    def forward(self, x)", "    @compiled\n    def forward(self, x)")
)

STRATEGY = wrapping(
    "torch.compile-module",
    (COMPILED_AND_REPLAYED, COMPILED),
    compiled_gain,
    few_to_compile,
    title="Compile the module with torch.compile",
    family=Family.LIBRARY,
    why="PyTorch's own compiler fuses what lies between matrix products, and can replay the result from CUDA graphs.",
    doc="""\
A step of the library: no kernel of ours, and the speed is that of PyTorch's compiler (Inductor) on this machine. It is raced
against the kernels that other strategies write, and kept only where it is faster: on an H100, for LeNet-5 (KernelBench, level
3) the default mode took 0.74 ms instead of 0.82.

The rewrite puts one line on the forward, `@compiled`, and above the class a helper of some 100 lines. What is compiled is the
forward and not the module, so that the names in `state_dict` get no `_orig_mod.` before them. Two variants are raced:
`mode="reduce-overhead"`, which replays CUDA graphs and whose results the helper copies out of their memory, and the default
mode.

Two kinds of calls (shapes, strides, dtypes, numbers) are compiled, each at its second call; further ones run as written, since
a compilation takes from seconds to minutes. The forward also runs as written on the CPU, for gradients, under autocast, with
forward hooks, while a graph is captured, and where the first call has drawn random numbers or has written to a tensor that it
did not make, other than a buffer; with `mode="reduce-overhead"` in other threads than the main one, too. Compiled code updates
the buffers itself, such as the statistics of a batch norm in training mode.

A large module may take longer to compile than a verification may take (`verifyTimeout`): the race goes on without it then.

**Refused:** what `torch.cuda-graph` refuses, for the same reasons, but that two kernels are enough.
""",
    instruction=(
        'Compile the module\'s forward with torch.compile, mode="reduce-overhead" or the default one, without wrapping the '
        "module itself: the state_dict stays as it is. Clone the results of reduce-overhead. Fall back to the forward as "
        "written on the CPU, for gradients, with hooks, and in another capture."
    ),
    example=Example(_BEFORE, _AFTER),
    slow_start=True,
)
