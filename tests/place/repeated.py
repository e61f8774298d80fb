"""Models whose code runs more than once: in loops over modules, over steps, in functions that are called again."""

from kernelwright.macro.strategies import (
    torch_fuse_pointwise,
    torch_fuse_product,
    torch_fuse_reduction,
    torch_fuse_row_reduction,
)

POINTWISE, ROWS = torch_fuse_pointwise.STRATEGY, torch_fuse_row_reduction.STRATEGY
PRODUCT, REDUCTION = torch_fuse_product.STRATEGY, torch_fuse_reduction.STRATEGY


def model(setup: str, forward: str, more: str = "", inputs: str = "torch.randn(8, 16)", methods: str = "") -> str:
    """A file with a Model, what stands above it, and further methods of it."""
    prepare, body, others = ("\n        ".join(part.splitlines()) for part in (setup, forward, methods))
    others = "\n".join(line[4:] for line in f"        {others}".splitlines())
    return f"""import torch
import torch.nn as nn
import torch.nn.functional as F


{more}

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {prepare}

{others}

    def forward(self, x):
        {body}


def get_inputs():
    return [{inputs}]


def get_init_inputs():
    return []
"""


LINEARS = "self.layers = nn.ModuleList([nn.Linear(16, 16) for _ in range(3)])"
NORMED = LINEARS + "\nself.norms = nn.ModuleList([nn.LayerNorm(16) for _ in range(3)])"
BLOCKS = (
    "self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(16, 16), nn.LayerNorm(16), nn.ReLU()) for _ in range(3)])"
)
STAGES = "self.stages = nn.ModuleList([nn.ModuleList([nn.Linear(16, 16) for _ in range(2)]) for _ in range(2)])"
DENSE = """\
layers = [nn.Sequential(nn.BatchNorm2d(4 * i + 4), nn.ReLU(inplace=True), nn.Conv2d(4 * i + 4, 4, 1)) for i in range(3)]
self.layers = nn.ModuleList(layers)"""
ENCODERS = """\
self.layers = nn.ModuleList([
    nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True{more}) for _ in range(2)
])"""
STEPS = """\
hidden = torch.zeros_like(x[0])
outputs = []
for t in range(4):
    hidden = torch.tanh(self.cell(hidden) * 2 + x[t])
    outputs.append(hidden)
return torch.stack(outputs)"""
HELPER = "def scaled(x, weight):\n    x = torch.tanh(x * weight)\n    return x * 2 + 1\n"
METHOD = "def act(self, x, factor):\n    y = torch.sigmoid(x)\n    return y * x * factor"
IMAGE, SEQUENCE = "torch.randn(2, 4, 6, 6)", "torch.randn(3, 5, 16)"

PLACED = {
    "a loop over modules": (
        POINTWISE,
        model(LINEARS, "for layer in self.layers:\n    x = torch.tanh(layer(x)) * 2 + 1\nreturn x"),
        "            x = fused_tanh_mul_add(layer(x))\n",
    ),
    "a loop over modules and their norms": (
        ROWS,
        model(NORMED, "for layer, norm in zip(self.layers, self.norms):\n    x = torch.relu(norm(layer(x)))\nreturn x"),
        "fused_layer_norm_relu(layer(x), norm.weight, norm.bias, norm.eps)",
    ),
    "a loop over indices": (
        ROWS,
        model(NORMED, "for i in range(3):\n    x = torch.relu(self.norms[i](self.layers[i](x)))\nreturn x"),
        "self.norms[i].weight,",
    ),
    "a numbered loop": (
        ROWS,
        model(NORMED, "for i, layer in enumerate(self.layers):\n    x = self.norms[i](layer(x)) * i\nreturn x"),
        "layer(x), self.norms[i].weight, self.norms[i].bias, self.norms[i].eps, i",
    ),
    "a loop in a loop": (
        POINTWISE,
        model(
            STAGES, "for stage in self.stages:\n    for layer in stage:\n        x = torch.tanh(layer(x)) * 2\nreturn x"
        ),
        "                x = fused_tanh_mul(layer(x))\n",
    ),
    "a loop over containers": (
        ROWS,
        model(BLOCKS, "for block in self.blocks:\n    x = block(x)\nreturn x"),
        "            assert len(block) == 3\n            x = block[0](x)\n            x = fused_layer_norm_relu(",
    ),
    "a loop over steps": (
        POINTWISE,
        model("self.cell = nn.Linear(16, 16)", STEPS, inputs=SEQUENCE.replace("3", "4", 1)),
        "            hidden = fused_mul_residual_tanh(self.cell(hidden), x[t])\n",
    ),
    "a function that is called more than once": (
        POINTWISE,
        model(
            "self.a = nn.Parameter(torch.rand(16))\nself.b = nn.Parameter(torch.rand(16))",
            "x = scaled(x, self.a)\nreturn scaled(x, self.b)",
            HELPER,
        ),
        "    return fused_tanh(x, weight)\n",
    ),
    "the result of a function that is called more than once": (
        POINTWISE,
        model(
            "self.a = nn.Parameter(torch.rand(16, 16))\nself.b = nn.Parameter(torch.rand(16, 16))",
            "x = torch.relu(mixed(x, self.a))\nreturn torch.tanh(mixed(x, self.b)) * 2",
            "def mixed(x, weight):\n    return x @ weight\n",
        ),
        "        return fused_tanh_mul(mixed(x, self.b))\n",
    ),
    "a method that is called more than once": (
        POINTWISE,
        model(LINEARS, "x = self.act(self.layers[0](x), 2.0)\nreturn self.act(self.layers[1](x), 0.5)", methods=METHOD),
        "        return fused_silu_mul(x, factor)\n",
    ),
    "a part of a conditional expression": (
        ROWS,
        model(
            "self.norm = nn.LayerNorm(16)\nself.other = None",
            "x = torch.relu(self.norm(x)) if self.norm is not None else x\n"
            "return self.other(x) if self.other is not None else x",
        ),
        "        x = fused_layer_norm_relu(x, self.norm.weight, self.norm.bias, self.norm.eps) if self.norm is not None else x",
    ),
    "dropout that attributes switch off": (
        POINTWISE,
        model("self.p = 0.0", "return F.dropout(torch.tanh(x), self.p, self.training) * 2"),
        "        if not (self.training and self.p):\n            return fused_tanh_mul(x)\n        return F.dropout(",
    ),
    "an operator in place behind a norm, in growing tensors": (
        REDUCTION,
        model(
            DENSE,
            "features = [x]\nfor layer in self.layers:\n    new = layer(x)\n    features.append(new)\n"
            "    x = torch.cat(features, 1)\nreturn x",
            inputs=IMAGE,
        ),
        "                new = fused_batch_norm_relu(\n                    layer[0].num_batches_tracked,\n",
    ),
    "a composite module": (
        ROWS,
        model(ENCODERS.format(more=""), "for layer in self.layers:\n    x = layer(x)\nreturn x", inputs=SEQUENCE),
        "                x = fused_add_layer_norm(\n                    layer.linear2(layer.dropout(hidden)),\n",
    ),
    "a composite module that normalises first": (
        PRODUCT,
        model(
            ENCODERS.format(more=", activation='gelu', norm_first=True"),
            "for layer in self.layers:\n    x = layer(x)\nreturn x",
            inputs=SEQUENCE.replace("5", "32"),
        ),
        "            normed = layer.norm1(x)\n"
        "            attended = layer.self_attn(normed, normed, normed, need_weights=False)[0]\n",
    ),
}
"""What is written, by what it is about: the strategy, the file, and lines of the new text."""

REFUSED = {
    "a name that the next iteration may read": (
        POINTWISE,
        model(
            LINEARS,
            "y = x\nfor i, layer in enumerate(self.layers):\n    if i > 7:\n        x = y\n    y = torch.tanh(layer(x))\n"
            "    x = y * 2\nreturn x",
        ),
        "`y` is read again and would have changed",
    ),
    "modules that do not do the same": (
        POINTWISE,
        model(
            "self.layers = nn.ModuleList([nn.Tanh(), nn.ReLU()])",
            "for layer in self.layers:\n    x = layer(x) * 2\nreturn x",
        ),
        "do not all do the same here",
    ),
    "iterations that need different kernels": (
        POINTWISE,
        model(
            "pass",
            "scales = [torch.ones_like(x), x[0] * 2, x[0, 0] * 2]\nfor one in scales:\n    x = torch.tanh(x * one)\nreturn x",
        ),
        "do not all fit one kernel",
    ),
    "one expression that is all of the loop": (
        ROWS,
        model("self.act = nn.Softmax(-1)", "for _ in range(3):\n    x = self.act(x)\nreturn x"),
        "The expression of softmax runs more than once",
    ),
    "a condition that changes between the calls": (
        POINTWISE,
        model("self.norm = nn.LayerNorm(16)", "return torch.relu(torch.tanh(x) if self.norm is not None else x)"),
        "stands in a conditional expression",
    ),
    "dropout in a conditional expression": (
        POINTWISE,
        model("self.drop = nn.Dropout(0.0)", "return torch.tanh(self.drop(x)) if self.drop is not None else x"),
        "tanh stands in a conditional expression",
    ),
    "dropout that a variable switches off": (
        POINTWISE,
        model("self.p = 0.0", "p = self.p\nx = torch.tanh(F.dropout(x, p))\nreturn x"),
        "dropout may act differently in training mode",
    ),
    "a while loop": (
        POINTWISE,
        model(LINEARS, "i = 0\nwhile i < 3:\n    x = torch.tanh(self.layers[i](x)) * 2\n    i += 1\nreturn x"),
        "runs more than once",
    ),
    "a composite module with a hook": (
        ROWS,
        model(
            ENCODERS.format(more="") + "\nself.layers[0].register_forward_hook(lambda *_: None)",
            "for layer in self.layers:\n    x = layer(x)\nreturn x",
            inputs=SEQUENCE,
        ),
        "A hook may be registered on `layer`",
    ),
}
"""What is refused, by what it is about: the strategy, the file, and why."""
