"""Right and wrong PyTorch code, per rule. Wrong code is wrong in this one way only."""

HEAD = """
import math
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

"""

WRONG: dict[str, list[str]] = {}
RIGHT: dict[str, list[str]] = {}


def forward(*bodies: str, parameters: str = "x: torch.Tensor") -> list[str]:
    return [
        f"{HEAD}\nclass Model(nn.Module):\n    def forward(self, {parameters}):\n"
        + "".join(f"        {line}\n" for line in body.strip("\n").split("\n"))
        for body in bodies
    ]


def module(init: str, body: str, after: str = "") -> str:
    lines = "".join(f"        {line}\n" for line in init.strip("\n").split("\n"))
    steps = "".join(f"        {line}\n" for line in body.strip("\n").split("\n"))
    return (
        f"{HEAD}\nclass Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n{lines}\n"
        f"    def forward(self, x):\n{steps}\n{after}"
    )


WRONG["torch.host-sync"] = forward(
    "return x / x.abs().max().item()",
    "scale = x.max().cpu()\nreturn x / scale.to(x.device)",
    "if x.sum() > 0:\n    return x\nreturn -x",
    "print(x)\nreturn x + 1",
    "print(f'mean {x.mean()}')\nreturn x + 1",
    "error = x.norm()\nwhile error > 1e-3:\n    x = x / 2\n    error = x.norm()\nreturn x",
    "n = int(x.max())\nreturn F.one_hot(x, n)",
    "return [v * 2 for v in x.tolist()]",
    "y = x.detach().numpy()\nreturn torch.from_numpy(y)",
    "if torch.isnan(x).any():\n    raise ValueError('nan')\nreturn x",
    "return torch.relu(x) if not torch.any(x < 0) else x",
)
WRONG["torch.host-sync"] += [
    HEAD + "\ndef scale(x: torch.Tensor) -> torch.Tensor:\n    return torch.relu(x) / x.max().item()\n",
    HEAD + "\nclass M(nn.Module):\n    def forward(self, x):\n        return self.part(x)\n\n"
    "    def part(self, x):\n        return x * x.mean().item()\n",
]

RIGHT["torch.host-sync"] = forward(
    "return x / x.abs().max()",
    "if x.shape[0] > 1 and x.dim() == 2 and x.is_contiguous():\n    return x.sum(dim=0)\nreturn x",
    "print(x.shape, x.dtype, f'{x.shape[0]} rows')\nreturn torch.relu(x)",
    "return torch.where(x.sum() > 0, x, -x)",
    "if self.training:\n    return F.dropout(x)\nreturn x",
    "for name, part in self.parts.items():\n    x = part(x)\nreturn x",
    "return x.to(torch.float16).cuda()",
    "if not torch.is_tensor(x) or torch.cuda.is_available():\n    return x\nreturn x + 1",
    "if x.requires_grad or torch.is_grad_enabled():\n    return x * 2\nreturn x",
    "n = int(math.sqrt(x.shape[-1]))\nreturn x.view(n, n)",
    "if x.dtype != torch.float32:\n    raise ValueError(f'got {x.dtype}')\nreturn x",
    "if x.is_conj():\n    return x.resolve_conj()\nreturn x",
    "n = int(torch.prod(torch.tensor(x.shape)))\nreturn x.view(n)",
    "n = torch.arange(x.shape[0], device='cpu').sum().item()\nreturn x * n",
)
RIGHT["torch.host-sync"] += forward(
    "if mask is not None:\n    x = x.masked_fill(mask, 0)\nif flag:\n    x = -x\nif n > 3:\n    x = x * n\nreturn x",
    parameters="x, mask=None, flag=False, n=2",
)
RIGHT["torch.host-sync"] += [
    HEAD + "\ndef fill_cpu(x: torch.Tensor) -> torch.Tensor:\n    return torch.full((3,), x.sum().item())\n",
    HEAD
    + "\ndef train(model, x, optimizer):\n    loss = model(x).sum()\n    loss.backward()\n    print(loss.item())\n",
    HEAD
    + "\ndef test_model(model):\n    y = model(torch.randn(3))\n    assert torch.allclose(y.cpu(), torch.zeros(3))\n",
]

WRONG["torch.python-loop"] = forward(
    "out = []\nfor i in range(x.shape[0]):\n    out.append(x[i].norm())\nreturn torch.stack(out)",
    "out = torch.zeros_like(x)\nfor j in range(x.size(1)):\n    out[:, j] = x[:, j] * 2\nreturn out",
    "total = 0\nfor row in torch.relu(x):\n    total += row.sum()\nreturn total",
    "B, N = x.shape\nout = []\nfor b in range(B):\n    out.append(x[b] @ x[b].T)\nreturn torch.stack(out)",
    "out = []\nfor i in range(len(x.relu())):\n    out.append(x[i] + 1)\nreturn torch.stack(out)",
)
RIGHT["torch.python-loop"] = forward(
    "return x.flatten(1).norm(dim=1)",
    "h = torch.zeros_like(x[:, 0])\nfor t in range(x.shape[1]):\n    h = torch.tanh(self.cell(x[:, t]) + h)\nreturn h",
    "for layer in self.layers:\n    x = layer(x)\nreturn x",
    "for i in range(3):\n    x = torch.relu(x)\nreturn x",
    "for i in range(0, x.shape[0], 64):\n    x[i : i + 64].mul_(2)\nreturn x",
    "y = torch.zeros_like(x)\nfor t in range(1, x.shape[1]):\n    y[:, t] = 0.9 * y[:, t - 1] + x[:, t]\nreturn y",
    "for d in range(x.dim()):\n    x = x.flip(d)\nreturn x",
    "for i in range(x.shape[0]):\n    self.log(i)\nreturn x",
    "y = torch.zeros_like(x)\nlengths = x.argmax(1)\nfor i in range(x.shape[0]):\n"
    "    n = lengths[i]\n    y[i, :n] = x[i, :n].softmax(0)\nreturn y",
)

QKV = "q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask=None"
WRONG["torch.attention"] = forward(
    "scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])\nreturn torch.softmax(scores, dim=-1) @ v",
    "att = torch.matmul(q, k.mT) * 0.125\nif mask is not None:\n    att = att.masked_fill(mask, float('-inf'))\n"
    "att = F.dropout(F.softmax(att, dim=-1), 0.1)\nreturn torch.matmul(att, v)",
    "s = torch.einsum('bhid,bhjd->bhij', q, k)\np = s.softmax(dim=-1)\nreturn torch.einsum('bhij,bhjd->bhid', p, v)",
    "kt = k.permute(0, 1, 3, 2)\nw = (q.matmul(kt) / 8).softmax(-1)\nout = w.matmul(v)\nreturn out",
    "scores = torch.bmm(q, k.transpose(1, 2))\nscores = scores + mask\nreturn torch.bmm(torch.softmax(scores, -1), v)",
    parameters=QKV,
)
RIGHT["torch.attention"] = forward(
    "return F.scaled_dot_product_attention(q, k, v)",
    "w = torch.softmax(q @ k.transpose(-2, -1), dim=-1)\nout = w @ v\nreturn out, w",
    "return torch.softmax(q @ k.transpose(-2, -1), dim=-1)",
    "return (q @ k.transpose(-2, -1)) @ v",
    "return torch.softmax(q, dim=-1) @ v",
    "return torch.sigmoid(q @ k.mT) @ v",
    "w = torch.softmax(q @ k.mT, dim=-1)\nself.weights = torch.softmax(q @ k.mT, dim=-1)\nreturn w @ v",
    parameters=QKV,
)

WRONG["torch.repeated-contiguous"] = forward(
    "y = x.transpose(1, 2).contiguous()\nreturn y.contiguous().view(-1)",
    "return x.permute(0, 2, 1).contiguous().contiguous()",
    "x = x.contiguous()\ny = x + 1\nx = x.contiguous()\nreturn x + y",
    "y = x.t().contiguous()\nif self.flag:\n    return y.contiguous()\nreturn y",
)
RIGHT["torch.repeated-contiguous"] = forward(
    "return x.transpose(1, 2).contiguous().view(-1)",
    "y = x.contiguous()\ny = y.transpose(0, 1)\nreturn y.contiguous()",
    "x = x.contiguous()\nz = x.to(memory_format=torch.channels_last)\nreturn z.contiguous()",
    "y = x.contiguous()\nreturn y.contiguous(memory_format=torch.channels_last)",
    "y = x.contiguous()\nfor i in range(3):\n    y = y.contiguous()\n    y = y.transpose(0, 1)\nreturn y",
    "if self.flag:\n    x = x.contiguous()\nelse:\n    x = x.t()\nreturn x.contiguous()",
    "a = x.contiguous()\nb = self.other.contiguous()\nreturn a + b",
)

CONV = "self.conv = nn.Conv2d(3, 8, 3)\nself.bn = nn.BatchNorm2d(8)"
EVAL = "model = Model().eval()\n"
WRONG["torch.foldable-batchnorm"] = [
    module(CONV, "return F.relu(self.bn(self.conv(x)))", EVAL),
    module(CONV, "x = self.conv(x)\nx = self.bn(x)\nreturn F.relu(x)", EVAL),
    module("self.body = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())", "return self.body(x)", EVAL),
    module(CONV.replace("2d", "1d"), "y = self.conv(x)\nreturn self.bn(y)", "model = Model()\nmodel.eval()\n"),
]
RIGHT["torch.foldable-batchnorm"] = [
    module(CONV, "return F.relu(self.bn(self.conv(x)))"),
    module(CONV, "return F.relu(self.bn(self.conv(x)))", EVAL + "model.train()\n"),
    module(CONV, "return self.bn(F.relu(self.conv(x)))", EVAL),
    module(CONV, "y = self.conv(x)\nreturn self.bn(y) + y", EVAL),
    module(
        CONV.replace("nn.BatchNorm2d(8)", "nn.BatchNorm2d(8, track_running_stats=False)"),
        "return self.bn(self.conv(x))",
        EVAL,
    ),
    module("self.body = nn.Sequential(nn.BatchNorm2d(3), nn.Conv2d(3, 8, 3))", "return self.body(x)", EVAL),
]

WRONG["torch.float64"] = forward(
    "return x * torch.tensor([0.5, 0.25], dtype=torch.float64, device=x.device)",
    "return x.double() + 1",
    "w = torch.ones(x.shape[-1], dtype=torch.double)\nreturn x * w",
    "w = torch.from_numpy(np.array([0.25, 0.5, 0.25]))\nreturn x * w",
    "return x.to(torch.float64) @ x.to(torch.float64).T",
    "return x + torch.as_tensor(np.linspace(0, 1, 8))",
    "return x * torch.zeros(3, dtype=np.float64)",
)
RIGHT["torch.float64"] = forward(
    "return x * torch.tensor([0.5, 0.25], dtype=x.dtype, device=x.device)",
    "return x.double().sum(dim=-1).float()",
    "total = x.to(torch.float64).cumsum(-1)\ntotal = total / 2\nreturn total.to(x.dtype)",
    "return x * torch.tensor(0.5, dtype=torch.float64)",
    "return x * np.float64(0.5)",
    "w = torch.from_numpy(np.array([0.25, 0.5], dtype=np.float32))\nreturn x * w",
    "w = torch.from_numpy(np.array([0.25, 0.5])).to(x)\nreturn x * w",
    "i = torch.from_numpy(np.array([0, 2, 1]))\nreturn x[i]",
    "if x.dtype == torch.float64:\n    return x\nreturn x.float()",
)
