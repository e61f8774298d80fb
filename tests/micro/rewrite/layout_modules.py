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
