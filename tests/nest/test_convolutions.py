"""Convolutions of all kinds as kernels, compared with eager mode in Triton's interpreter, and which of them are refused."""

from pathlib import Path

import pytest

from interpreted import interpreted
from kernelwright.macro.strategies import registry
from macro.torch_modules import GPU, module, refusal, rewritten
from micro.rewrite.test_fused_numerics import problems

CONVOLUTION = registry()["torch.fuse-convolution"]
IMAGE, DEEP, LINE = "torch.randn(2, 6, 11, 9)", "torch.randn(2, 8, 11, 9)", "torch.randn(2, 8, 37)"


def conv(
    arguments: str, inputs: str = IMAGE, body: str = "return self.conv(x)", *, kind: str = "Conv2d", more: str = ""
) -> str:
    return module(body, f"self.conv = nn.{kind}({arguments})\n{more}".strip(), inputs)


def turned(
    arguments: str, inputs: str = IMAGE, body: str = "return self.conv(x)", *, rank: int = 2, more: str = ""
) -> str:
    return conv(arguments, inputs, body, kind=f"ConvTranspose{rank}d", more=more)


ADDED, OTHER = "return self.conv(x) + self.other", "self.other = nn.Parameter(torch.randn({}))"
CASES = {
    "plain": conv("6, 18, 3"),
    "of a matrix at each position": conv("20, 18, 1", "torch.randn(2, 20, 5, 6)"),
    "strided, padded unevenly, activated": conv(
        "6, 18, (3, 5), stride=2, padding=(1, 2)", "torch.randn(2, 6, 21, 19)", "return torch.relu(self.conv(x)) * 2"
    ),
    "of one dim, dilated": conv("6, 18, 5, dilation=2, stride=2", "torch.randn(3, 6, 51)", kind="Conv1d"),
    "of three dims": conv("3, 18, 3, padding=1", "torch.randn(2, 3, 5, 6, 7)", kind="Conv3d"),
    "of one channel, without a bias": conv("1, 18, 5, bias=False", "torch.randn(2, 1, 11, 9)"),
    "of few channels": conv("6, 9, 3", IMAGE, "return torch.relu(self.conv(x))"),
    "at few positions": conv("6, 18, 3", "torch.randn(2, 6, 5, 6)"),
    "of a short sum": conv("1, 18, 3", "torch.randn(2, 1, 11, 9)"),
    "in groups": conv("8, 40, 3, padding=1, groups=2", DEEP, "return torch.relu(self.conv(x))"),
    "depthwise": conv("6, 6, 3, padding=1, groups=6", IMAGE, "return torch.relu(self.conv(x))"),
    "depthwise of one dim": conv("8, 8, 4, stride=3, groups=8", LINE, kind="Conv1d"),
    "depthwise, of planes": conv(
        "3, 3, (3, 5), padding=(1, 2), bias=False, groups=3", "torch.randn(2, 3, 27, 25)", "return torch.relu(self.conv(x))"
    ),
    "depthwise of one dim, of planes": conv("3, 3, 4, stride=2, groups=3", "torch.randn(2, 3, 1203)", kind="Conv1d"),
    "depthwise of three dims, of planes": conv(
        "2, 2, 3, groups=2", "torch.randn(2, 2, 10, 11, 12)", ADDED, kind="Conv3d", more=OTHER.format("2, 2, 8, 9, 10")
    ),
    "a function's": module(
        "return nn.functional.conv2d(x, self.weight, stride=2)", "self.weight = nn.Parameter(torch.randn(18, 6, 3, 3))", IMAGE
    ),
    "a residual": conv("6, 18, 3", IMAGE, ADDED, more=OTHER.format("2, 18, 9, 7")),
    "a residual of groups": conv("8, 40, 3, groups=2", DEEP, ADDED, more=OTHER.format("2, 40, 9, 7")),
    "a residual, depthwise": conv("6, 6, 3, groups=6", IMAGE, ADDED, more=OTHER.format("2, 6, 9, 7")),
    "a residual of residues": turned("8, 18, 3, stride=2", DEEP, ADDED, more=OTHER.format("2, 18, 23, 19")),
    "flattened behind": conv("6, 18, 3", IMAGE, "return torch.relu(self.conv(x).flatten(1))"),
    "one of two": module(
        "return self.b(torch.relu(self.a(x)))", "self.a = nn.Conv2d(4, 18, 3)\nself.b = nn.Conv2d(18, 20, 3)",
        "torch.randn(1, 4, 11, 9)",
    ),
    "transposed": turned("6, 18, 3"),
    "transposed, in steps of two": turned("6, 18, 3, stride=2, padding=1, output_padding=1"),
    "transposed, of steps longer than the window": turned(
        "20, 18, 2, stride=3", "torch.randn(2, 20, 5, 6)", "return torch.relu(self.conv(x))"
    ),
    "transposed, all at once": turned("8, 36, (3, 5), stride=(2, 3), padding=1, dilation=(1, 2), groups=2", DEEP),
    "transposed, dilated": turned("6, 18, 3, dilation=2, padding=1"),
    "transposed, dilated by the stride": turned("6, 18, 3, stride=2, padding=1, dilation=2"),
    "transposed, with a common factor": turned(
        "6, 18, 5, stride=(4, 6), padding=(0, 3), dilation=(6, 4)", "torch.randn(2, 6, 5, 4)", "return self.conv(x) * 2"
    ),
    "transposed, of one step, with a common factor": turned("20, 18, 1, stride=2, dilation=4", "torch.randn(2, 20, 5, 6)"),
    "transposed, of three dims, with common factors in some": turned(
        "8, 36, (3, 4, 2), stride=(2, 3, 4), dilation=(2, 1, 6), groups=2", "torch.randn(2, 8, 3, 4, 5)", rank=3
    ),
    "transposed, in groups of few channels": turned("8, 16, 3, stride=2, padding=1, groups=2", DEEP),
    "transposed, of one dim": turned("8, 36, 4, stride=2", LINE, rank=1),
    "transposed, of three dims": turned("8, 36, (3, 4, 2), stride=2", "torch.randn(2, 8, 3, 4, 5)", rank=3),
}  # fmt: skip


def test_every_kind_agrees_with_eager_mode() -> None:
    # The precision of the first variant is one that Triton's interpreter knows.
    wide = [name for name, text in CASES.items() if "relu" not in text and "other" not in text]
    pairs = [[name, text, rewritten(CONVOLUTION, text)[0], name in wide] for name, text in CASES.items()]
    assert problems(pairs) == {}


def test_a_program_makes_results_of_one_plane_where_all_of_them_have_the_same_weights() -> None:
    for name in ("depthwise, of planes", "depthwise of one dim, of planes", "depthwise of three dims, of planes"):
        *of_planes, flat = rewritten(CONVOLUTION, CASES[name])
        assert of_planes, name
        assert all("mask" not in line_with("tl.load(weight_ptr", text) for text in of_planes), name
        assert "mask=mask" in line_with("tl.load(weight_ptr", flat)  # neighbouring results, of whichever plane
    small = rewritten(CONVOLUTION, CASES["depthwise"])  # planes of 99 results
    assert all("mask=mask" in line_with("tl.load(weight_ptr", text) for text in small)


def line_with(part: str, text: str) -> str:
    return next(line for line in text.splitlines() if part in line)


def test_products_of_rounded_operands_are_for_gpus_where_eager_mode_rounds_too() -> None:
    def precisions(texts: list[str]) -> list[str]:
        turned = {"rounded_channels_last(": "fp16", "fp16_parts_channels_last(": "fp16x3"}
        plain = [text.split('input_precision="')[1].split('"')[0] for text in texts]
        return [
            next((way for f, way in turned.items() if f in text), own) for text, own in zip(texts, plain, strict=True)
        ]

    exact = ["fp16x3", "fp16x3", "tf32x3", "tf32x3", "bf16x6"]
    assert precisions(rewritten(CONVOLUTION, CASES["strided, padded unevenly, activated"])) == exact
    rounded = [*["fp16"] * 2, *exact[:2], *["tf32"] * 3]
    assert precisions(rewritten(CONVOLUTION, CASES["strided, padded unevenly, activated"], GPU)) == [
        *rounded,
        *exact[2:],
    ]


def test_a_window_far_from_a_large_element_keeps_its_digits(tmp_path: Path) -> None:
    """Items of very different elements go by the kernel that reads them as they are, the others by the one of fp16 parts."""
    text = rewritten(CONVOLUTION, CASES["plain"])[0]
    assert interpreted(Path(__file__).with_name("run_planted.py"), given=text).split() == ["close", "close", "inf", "0"]


def test_a_convolution_of_one_image_or_of_none_has_a_kernel() -> None:
    one = conv("6, 18, 3", "torch.randn(1, 6, 21, 19)")
    alone = conv("6, 18, 3", "torch.randn(6, 21, 19)")
    assert "fp16_parts_channels_last(" in rewritten(CONVOLUTION, one)[0]
    assert "fp16_parts_channels_last(" not in rewritten(CONVOLUTION, alone)[0]
    assert (
        problems([[name, text, rewritten(CONVOLUTION, text)[0]] for name, text in {"one": one, "alone": alone}.items()])
        == {}
    )


def test_numbers_that_the_kernel_has_not_are_insisted_on() -> None:
    text = rewritten(CONVOLUTION, CASES["in groups"])[0]
    assert "or dilation_height != 1\n" in text
    assert "or x.shape[1] != weight.shape[1] * groups\n" in text
    assert "or weight.shape[0] % groups != 0\n" in text
    assert "padding_height != " not in text  # the kernel takes any
    text = rewritten(CONVOLUTION, CASES["transposed, with a common factor"])[0]
    assert "or stride_height != 4\n" in text
    assert "or dilation_width != 4\n" in text
    assert " padding_width != " not in text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (conv("6, 7, 3"), "too small, or too narrow"),
        (conv("1, 18, 1", "torch.randn(2, 1, 11, 9)"), "too small, or too narrow"),
        (conv("6, 18, 3, padding='same'"), "padding that is not known"),
        (module("return torch.relu(x)", inputs=IMAGE), "There is no convolution."),
    ],
)
def test_what_is_refused(text: str, reason: str) -> None:
    assert reason in refusal(CONVOLUTION, text).reason
