"""What callers of a file rely on."""

import pytest

from kernelwright.source.interface import broken, gone

TEXT = "def f(x, scale=1.0, *, eps=1e-5): ...\nclass Model:\n    def forward(self, x, mask=None): ...\n"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("x, scale", "y, scale", "parameter `x` of `f` is gone"),
        ("eps=1e-5", "eps=1e-6", "the default of `eps` in `f` is 1e-06 instead of 1e-05"),
        ("mask=None", "mask", "the default of `mask` in `Model.forward` is none instead of None"),
        ("x, mask=None", "mask=None, x=None", "parameter `x` of `Model.forward` stands elsewhere"),
        ("x, mask=None", "x, mask=None, *, causal", "`Model.forward` needs a further parameter, `causal`"),
        ("x, mask=None", "x, mask=None, causal=False", ""),
        ("self, x, mask=None", "*args, **kwargs", ""),
        ("def f(", "@triton.jit\ndef kernel(a): ...\ndef f(", ""),
    ],
)
def test_what_breaks_a_caller(old: str, new: str, words: str) -> None:
    assert old in TEXT
    assert broken(TEXT, TEXT.replace(old, new)) == words


@pytest.mark.parametrize("decorator", ["triton.jit", "cute.jit", "cute.kernel"])
def test_kernels_are_their_files_own(decorator: str) -> None:
    assert broken(f"@{decorator}\ndef kernel(a): ...", f"@{decorator}\ndef kernel(b, width): ...") == ""


def test_what_is_gone() -> None:
    assert gone(TEXT, TEXT + "def more(): ...") == ()
    assert gone(TEXT, "from elsewhere import f") == ("Model",)
    assert gone(TEXT, TEXT.replace("forward", "run")) == ("Model.forward",)
    assert gone(TEXT, TEXT.replace("class Model", "class Base") + "class Model(Base): ...") == ()
    assert gone(TEXT, TEXT.replace("forward", "run") + "    forward = run\n") == ()
    assert gone("@triton.jit\ndef kernel(): ...\ndef _own(): ...\ndef get_inputs(): ...", "") == ()
