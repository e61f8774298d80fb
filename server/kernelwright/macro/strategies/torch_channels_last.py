"""Runs the convolutions of a module on channels-last tensors, the layout of cuDNN's tensor-core kernels."""

from kernelwright.macro.intent import Intent, Text
from kernelwright.macro.strategy import Example, Family, Observation, Strategy
from kernelwright.micro.rewrite.channels_last_plan import Plan, plan, whole_plan
from kernelwright.micro.rewrite.channels_last_source import write
from kernelwright.values import Action, Device, Edits, Language, Refusal, Region

_ID = "torch.channels-last"

# What the conversion usually brings where the layout is passed on, and where each result is copied back at once.
_GAIN, _GAIN_ALONE = 0.3, 0.0


def _find(observation: Observation) -> tuple[Action, ...] | Refusal:
    plans = _plans(observation)
    if isinstance(plans, Refusal):
        return plans
    planned = plans[0]
    params: dict[str, float | str] = {
        "convolutions": ",".join(str(node.id) for node in planned.nodes),
        "expected_gain": _GAIN if planned.passed_on else _GAIN_ALONE,
    }
    label = ", ".join(node.op for node in planned.nodes[:4]) + (", …" if len(planned.nodes) > 4 else "")
    text_hash = planned.source.graph.text_hash
    return (Action(_ID, Region(planned.start_line, planned.end_line, text_hash, label), params),)


def _intent(observation: Observation, action: Action) -> Intent | Refusal:
    plans = _plans(observation)
    if isinstance(plans, Refusal):
        return plans
    from kernelwright.emit.layout_copy import copy_kernel  # prints kernels, which a menu does without

    written: list[Edits | Refusal] = []
    for planned in plans:
        # (weights, kernel): the best guess first.
        ways = (
            [(True, True), (False, True), (True, False)] if planned.large_entries else [(True, False), (False, False)]
        )
        written += [write(planned, weights=weights, kernel=copy_kernel if kernel else None) for weights, kernel in ways]
    variants = {edits.edits: edits for edits in written if isinstance(edits, Edits)}
    return (
        Text(tuple(variants.values()))
        if variants
        else next(refusal for refusal in reversed(written) if isinstance(refusal, Refusal))
    )


def _plans(observation: Observation) -> tuple[Plan, ...] | Refusal:
    """The conversion before single convolutions, and that of all that enters the call; a Refusal where there is neither."""
    if not observation.device.is_gpu:
        return Refusal("Whether channels-last convolutions are faster needs a GPU to measure.")
    dtypes = _tensor_core_dtypes(observation.device)
    if not dtypes:
        return Refusal(f"{observation.device.name} has no tensor cores for convolutions.")
    source = observation.source
    if isinstance(source, Refusal):
        return source
    start, end = observation.kernel.start_line, observation.kernel.end_line
    found = plan(source, dtypes)
    if isinstance(found, Plan) and not any(start <= tree.lineno - 1 < end for tree, *_ in found.entries):
        found = Refusal("The convolutions stand outside this kernel.")
    whole = whole_plan(source, dtypes)
    if isinstance(whole, Plan) and not start <= whole.start_line < end:
        whole = Refusal("The call begins outside this kernel.")
    if isinstance(found, Refusal):
        return found if isinstance(whole, Refusal) else (whole,)
    return (found,) if isinstance(whole, Refusal) or not _converts_more(whole, found) else (found, whole)


def _converts_more(whole: Plan, found: Plan) -> bool:
    """Whether the whole call has more convolutions to convert, or weights that stand in no line of their own."""
    return len(whole.nodes) > len(found.nodes) or isinstance(write(found, weights=True), Refusal)


def _tensor_core_dtypes(device: Device) -> frozenset[str]:
    """The dtypes that cuDNN convolves on tensor cores: fp32 as TF32 and bf16 from compute capability 8.0, fp16 from 7.0."""
    capability = device.compute_capability or 0
    if capability >= 80:
        return frozenset({"float32", "float16", "bfloat16"})
    return frozenset({"float16"}) if capability >= 70 else frozenset()


_BEFORE = '''import torch
import torch.nn as nn


class Model(nn.Module):
    """A convolution, an activation and a bias for each channel."""

    def __init__(self, channels, features):
        super().__init__()
        self.conv = nn.Conv2d(channels, features, 3)
        self.bias = nn.Parameter(torch.zeros(features, 1, 1))

    def forward(self, x):
        x = self.conv(x)
        x = torch.relu(x)
        return x + self.bias


def get_inputs():
    return [torch.randn(2, 16, 12, 12)]


def get_init_inputs():
    return [16, 32]
'''

_AFTER = (
    _BEFORE.replace("self.conv(x)", "self.conv(x.contiguous(memory_format=torch.channels_last))")
    .replace("return x + self.bias", "return (x + self.bias).contiguous()")
    .replace(
        "        self.conv = nn.Conv2d(channels, features, 3)\n",
        "        self.conv = nn.Conv2d(channels, features, 3)\n"
        "        self.conv.to(memory_format=torch.channels_last)\n",
    )
)

STRATEGY = Strategy(
    id=_ID,
    title="Run convolutions channels-last",
    family=Family.LAYOUT,
    languages=frozenset({Language.TORCH}),
    why="cuDNN's tensor-core kernels work channels-last; other tensors it converts before and after each convolution.",
    doc="""\
cuDNN's tensor-core convolutions (fp16, bf16, and fp32 as TF32) read and write tensors channels-last (NHWC, NDHWC). In
the usual layout PyTorch's call hides a conversion of the input and one of the result, each a pass over the whole
tensor. This rewrite converts the input of the first convolution, or the arguments of the forward, so that layers in
containers, loops and other classes of the file follow; pointwise operations, batch norm, pooling in two
dimensions, `cat` and further convolutions pass the layout on. What the call returns is made contiguous again, so that callers
see the same shape and strides. Where the result has lost its spatial dimensions there is nothing to convert back.

Variants are raced: with the weights converted once, in the constructor (names, values and checkpoints stay as
they are, only strides change), and without, where cuDNN converts them in every call; inputs of 16 MiB and more converted
by a Triton kernel that reads and writes whole lines, or by PyTorch's copy.

With one or two convolutions the two conversions alone cost more than they gain (fp32 on an H200: 0.71 to 0.87 times the
speed in four modules). They pay where a fused kernel reads channels-last and writes the contiguous result in the same
pass, so the fusions on top of the layout are raced in the same step: pointwise operations, and reductions over the
channels or over the positions, whose loads are whole lines in either case. A fused kernel that stands already asks for
contiguous inputs and converts back too early.

**Refused:** fewer than 16 channels on either side unless a multiple of 8, convolutions in groups, fp64, GPUs without
tensor cores for the dtype, a Triton kernel or `as_strided` that would read the changed layout, several return
statements, and, where the arguments would be converted, a call that writes to one or returns it. `view` needs
contiguous memory and gets a `.contiguous()` before it.
""",
    instruction=(
        "Run the convolutions channels-last: convert the input of the first one with "
        ".contiguous(memory_format=torch.channels_last) (channels_last_3d for volumes), let pointwise operations pass the "
        "layout on, convert the layers' weights once in __init__ with .to(memory_format=…), put .contiguous() before "
        "every view, and return contiguous tensors where the baseline did. Change no values."
    ),
    example=Example(_BEFORE, _AFTER),
    find=_find,
    intent=_intent,
    needs_graph=True,
    needs_gpu=True,
    prepares=("torch.fuse-pointwise", "torch.fuse-row-reduction"),
)
