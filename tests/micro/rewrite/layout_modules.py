"""Small modules with channels-last tensors, whose forward is rewritten for the layout they read and the one they make."""

from micro.rewrite.fused_modules import FusedModule

LAST = ".contiguous(memory_format=torch.channels_last)"
LAST_3D = ".contiguous(memory_format=torch.channels_last_3d)"


TO_CONTIGUOUS = [
    FusedModule(
        "bias",
        "return (torch.relu(x) + self.bias).contiguous()",
        f"torch.randn(2, 5, 3, 7){LAST}",
        "self.bias = nn.Parameter(torch.randn(5, 1, 1))",
    ),
    FusedModule("only one op", "y = torch.sigmoid(x)\nreturn y.contiguous()", f"torch.randn(3, 40, 5, 9){LAST}"),
    FusedModule(
        "residual and scale of each item",
        "x = F.gelu(x) * scale + other\nreturn x.contiguous()",
        f"torch.randn(2, 6, 3, 5){LAST}, torch.randn(2, 6, 1, 1), torch.randn(2, 6, 3, 5)",
        arguments="x, scale, other",
    ),
    FusedModule(
        "volume",
        "x = F.leaky_relu(x, 0.1) - self.shift\nx = x * 2\nreturn x.contiguous()",
        f"torch.randn(2, 3, 3, 5, 2){LAST_3D}",
        "self.shift = nn.Parameter(torch.randn(1, 3, 1, 1, 1))",
    ),
    FusedModule(
        "names of the kernel's own",
        "x = channel * mask + position\nreturn x.contiguous()",
        f"torch.randn(2, 9, 4, 4){LAST}, torch.randn(9, 1, 1), torch.randn(4)",
        arguments="channel, mask, position",
    ),
    FusedModule(
        "two channels-last tensors",
        "return torch.tanh(x * y).contiguous()",
        f"torch.randn(2, 130, 3, 3){LAST}, torch.randn(2, 130, 3, 3){LAST}",
        arguments="x, y",
    ),
    FusedModule("nothing but the conversion", "return x.contiguous()", f"torch.randn(2, 5, 3, 7){LAST}"),
    FusedModule("conversion first", "x = x.contiguous()\nreturn torch.tanh(x)", f"torch.randn(1, 17, 3, 1){LAST}"),
    FusedModule(
        "conversion in the middle", "x = torch.relu(x).contiguous()\nreturn x * 2", f"torch.randn(3, 4, 1, 9){LAST}"
    ),
]

TO_LAST = [
    FusedModule("copy", f"return x{LAST}", "torch.randn(2, 5, 3, 7)"),
    FusedModule("copy of a volume", f"return x{LAST_3D}", "torch.randn(1, 33, 2, 3, 3)"),
    FusedModule(
        "bias and item",
        f"x = (torch.relu(x) + self.bias) * scale\nreturn x{LAST}",
        "torch.randn(3, 5, 4, 3), torch.randn(3, 1, 1, 1)",
        "self.bias = nn.Parameter(torch.randn(5, 1, 1))",
        arguments="x, scale",
    ),
    FusedModule("conversion first", f"x = x{LAST}\nreturn torch.tanh(x)", "torch.randn(1, 70, 5, 1)"),
]

_IMAGE = f"torch.randn(2, 6, 5, 7){LAST}"
_BIAS = "self.bias = nn.Parameter(torch.randn(6, 1, 1))"

OVER_CHANNELS = [
    *(
        FusedModule(f"channels-{i}", f"x = x * 1.5\nx = {call}\nreturn x", f"torch.randn({shape}){last}")
        for i, (call, shape, last) in enumerate(
            (
                ("torch.min(x, dim=1, keepdim=True)[0]", "2, 6, 5, 7", LAST),
                ("torch.softmax(x, dim=1)", "1, 33, 3, 5", LAST),
                ("torch.softmax(x, dim=1)", "3, 2, 1, 9", LAST),
                ("F.log_softmax(x, dim=1)", "2, 5, 2, 3, 4", LAST_3D),
                ("torch.logsumexp(x, dim=1, keepdim=True)", "1, 17, 2, 3, 3", LAST_3D),
                ("x.mean(dim=1)", "2, 6, 5, 7", LAST),
                ("torch.sum(x, dim=1, keepdim=True)", "2, 40, 13, 1", LAST),
                ("torch.amax(x, 1)", "1, 3, 70, 70", LAST),
                ("torch.argmax(x, dim=1)", "2, 6, 5, 7", LAST),
                ("x.var(dim=1, keepdim=True)", "2, 6, 5, 7", LAST),
                ("x / torch.norm(x, dim=1, keepdim=True)", "2, 6, 5, 7", LAST),
                ("F.normalize(x, dim=1).contiguous()", "2, 6, 5, 7", LAST),
            )
        )
    ),
    FusedModule(
        "bias, scale and residual after a softmax",
        "y = torch.softmax(x, dim=1) + self.bias\ny = y * scale + other\nreturn torch.sigmoid(y)",
        f"{_IMAGE}, torch.randn(2, 1, 1, 1), torch.randn(2, 6, 5, 7)",
        _BIAS,
        arguments="x, scale, other",
    ),
    FusedModule(
        "one number and one image of each item",
        "x = torch.max(x + self.bias, dim=1, keepdim=True)[0]\nx = x * scale + image\nreturn torch.tanh(x)",
        f"{_IMAGE}, torch.randn(2, 1, 1, 1), torch.randn(2, 1, 5, 7)",
        _BIAS,
        arguments="x, scale, image",
    ),
    FusedModule(
        "one number for each position",
        "x = x * mask\nx = torch.logsumexp(x, dim=1, keepdim=True)\nreturn torch.relu(x) - mask",
        f"{_IMAGE}, torch.rand(5, 7)",
        arguments="x, mask",
    ),
    FusedModule(
        "names of the kernel's own",
        "item = item * spatial + length\nreturn torch.softmax(item, dim=1) * positions",
        f"{_IMAGE}, torch.randn(6, 1, 1), torch.randn(7), torch.randn(5, 1)",
        arguments="item, spatial, length, positions",
    ),
    FusedModule("conversion first", "x = x.contiguous()\nx = torch.softmax(x, dim=1)\nreturn torch.relu(x)", _IMAGE),
]

OVER_POSITIONS = [
    *(
        FusedModule(f"positions-{i}", f"x = F.gelu(x)\nx = {call}\nreturn x", f"torch.randn({shape}){last}")
        for i, (call, shape, last) in enumerate(
            (
                ("F.adaptive_avg_pool2d(x, 1).squeeze(-1).squeeze(-1)", "2, 6, 5, 7", LAST),
                ("F.adaptive_avg_pool2d(x, (1, 1))", "1, 20, 23, 27", LAST),
                ("torch.mean(x, dim=(2, 3), keepdim=True)", "3, 5, 1, 9", LAST),
                ("torch.tanh(x.mean([2, 3, 4])) * 2", "2, 5, 2, 3, 4", LAST_3D),
                ("torch.amax(x, (2, 3))", "2, 40, 24, 24", LAST),
                ("F.instance_norm(x)", "2, 6, 5, 7", LAST),
                ("F.instance_norm(x)", "1, 5, 24, 23", LAST),
                ("x - x.mean((2, 3), keepdim=True)", "2, 6, 5, 7", LAST),
                ("(x / (x.var((2, 3), keepdim=True) + 1)).contiguous()", "1, 18, 24, 23", LAST),
            )
        )
    ),
    FusedModule(
        "affine instance norm and residual",
        "y = self.norm(x)\nreturn torch.relu(y) + other",
        f"{_IMAGE}, torch.randn(2, 6, 5, 7)",
        "self.norm = nn.InstanceNorm2d(6, affine=True)\nnn.init.normal_(self.norm.weight)\nnn.init.normal_(self.norm.bias)",
        arguments="x, other",
    ),
    FusedModule(
        "bias of each channel after the mean",
        "x = (x + self.bias).mean((2, 3), keepdim=True)\nreturn x + self.bias",
        _IMAGE,
        _BIAS,
    ),
    FusedModule("sum of an item", "x = torch.sigmoid(x)\nreturn torch.sum(x, dim=[1, 2, 3])", _IMAGE),
    FusedModule("mean of everything", "x = torch.sigmoid(x + self.bias)\nreturn x.mean()", _IMAGE, _BIAS),
    FusedModule(
        "sum of a long item",
        "x = torch.sigmoid(x + self.bias)\nreturn torch.sum(x, dim=[1, 2, 3])",
        f"torch.randn(1, 6, 57, 61){LAST}",
        _BIAS,
    ),
]

_CONV = "self.conv = nn.Conv2d(4, 6, 3, padding=1)"
_PICTURE = "torch.randn(2, 4, 5, 7)"

BIASED = [
    FusedModule("layer", "x = self.conv(x)\nx = torch.tanh(x)\nreturn x", _PICTURE, _CONV),
    FusedModule("in the expression", "return torch.tanh(self.conv(x)) * 2", _PICTURE, _CONV),
    FusedModule("in an earlier expression", "y = F.relu(self.conv(x)) + 1\ny = y * 0.5\nreturn y", _PICTURE, _CONV),
    FusedModule(
        "channels-last",
        f"x = self.conv(x{LAST})\nx = F.gelu(x)\nreturn x.contiguous()",
        "torch.randn(1, 4, 5, 7)",
        _CONV,
    ),
    FusedModule(
        "function",
        "bias = self.conv.bias * 2\ny = F.conv2d(x, self.conv.weight, bias, padding=1)\nreturn torch.sigmoid(y)",
        _PICTURE,
        _CONV,
    ),
    FusedModule(
        "function with keywords",
        "y = F.conv2d(x, bias=self.conv.bias, weight=self.conv.weight)\nreturn torch.sigmoid(y) - other",
        "torch.randn(2, 4, 5, 7), torch.randn(2, 6, 3, 5)",
        _CONV,
        arguments="x, other",
    ),
    FusedModule(
        "transposed volume",
        "x = self.up(x)\nreturn F.hardswish(x)",
        "torch.randn(1, 3, 2, 3, 4)",
        "self.up = nn.ConvTranspose3d(3, 5, 3, stride=2, output_padding=1)",
    ),
    FusedModule("signal", "return self.conv(x).relu()", "torch.randn(2, 3, 9)", "self.conv = nn.Conv1d(3, 5, 2)"),
    FusedModule(
        "two layers",
        "return self.conv(x) * torch.sigmoid(self.gate(x))",
        _PICTURE,
        f"{_CONV}\nself.gate = nn.Conv2d(4, 6, 3, padding=1)",
    ),
]

BIASED_ROWS = [
    FusedModule("extreme", "x = self.conv(x)\nreturn torch.amin(x, 1)", _PICTURE, _CONV),
    FusedModule(
        "norm", "x = F.silu(self.conv(x))\nreturn self.norm(x)", _PICTURE, f"{_CONV}\nself.norm = nn.GroupNorm(2, 6)"
    ),
    FusedModule(
        "channels-last softmax", f"x = self.conv(x{LAST})\nx = torch.softmax(x, dim=1)\nreturn x * 2", _PICTURE, _CONV
    ),
    FusedModule(
        "channels-last mean",
        f"x = F.gelu(self.conv(x{LAST}))\nreturn x.mean((2, 3))",
        "torch.randn(1, 4, 23, 24)",
        _CONV,
    ),
]

_MAX, _MEAN = "self.pool = nn.MaxPool2d(2)", "self.pool = nn.AvgPool2d(3)"
_EACH = "self.bias = nn.Parameter(torch.randn(4, 1, 1))"

POOLED = [
    FusedModule("after the layer", "x = self.conv(x)\nx = self.pool(x)\nreturn x", _PICTURE, f"{_CONV}\n{_MAX}"),
    FusedModule(
        "before and after",
        "x = torch.tanh(x) - 0.5\nx = self.pool(x)\nreturn F.mish(x)",
        "torch.randn(3, 4, 9, 6)",
        _MAX,
    ),
    FusedModule(
        "means",
        "x = F.hardswish(x + self.bias)\nx = self.pool(x)\nreturn x * 2",
        "torch.randn(1, 4, 11, 7)",
        f"{_MEAN}\n{_EACH}",
    ),
    FusedModule(
        "bias behind",
        "x = self.pool(torch.relu(x))\nreturn x + self.bias",
        "torch.randn(2, 4, 5, 3)",
        f"{_MAX}\n{_EACH}",
    ),
    FusedModule(
        "channels-last",
        "x = F.gelu(x + self.bias)\nreturn self.pool(x)",
        f"torch.randn(2, 4, 7, 8){LAST}",
        f"{_MAX}\n{_EACH}",
    ),
    FusedModule(
        "channels-last to contiguous",
        f"x = self.conv(x{LAST})\nx = self.pool(torch.relu(x))\nx = F.mish(x)\nreturn x.contiguous()",
        "torch.randn(2, 4, 9, 10)",
        f"{_CONV}\n{_MEAN}",
    ),
    FusedModule(
        "nothing but the conversion", "return self.pool(x).contiguous()", f"torch.randn(1, 70, 6, 7){LAST}", _MEAN
    ),
    FusedModule("one result", "return torch.sigmoid(F.max_pool2d(x, 2))", "torch.randn(2, 3, 3, 2)"),
    FusedModule(
        "a size of the module's own",
        "return F.avg_pool2d(x.abs(), kernel_size=self.k)",
        "torch.randn(2, 3, 5, 7)",
        "self.k = (2, 2)",
    ),
    FusedModule(
        "volume",
        "x = F.leaky_relu(x * self.s)\nreturn F.max_pool3d(x, 2)",
        "torch.randn(2, 3, 5, 4, 6)",
        "self.s = nn.Parameter(torch.randn(3, 1, 1, 1))",
    ),
    FusedModule(
        "channels-last volume",
        "x = self.pool(x)\nreturn F.gelu(x).contiguous()",
        f"torch.randn(1, 9, 4, 5, 7){LAST_3D}",
        "self.pool = nn.AvgPool3d((2, 2, 2))",
    ),
    FusedModule(
        "normalised",
        "x = self.norm(x)\nx = self.pool(torch.relu(x))\nreturn x",
        "torch.randn(2, 4, 6, 6)",
        f"self.norm = nn.BatchNorm2d(4)\nself.norm.running_mean.normal_()\n{_MAX}",
        mode="eval",
    ),
]
