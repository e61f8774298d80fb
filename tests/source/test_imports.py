"""Names and what they stand for, in every spelling that files use."""

import pytest

from kernelwright.source.document import parse
from kernelwright.source.imports import aliases_of, dotted


def check(text: str, written: str, expected: str | None) -> None:
    assert aliases_of(parse(text)).canonical(written) == expected


@pytest.mark.parametrize(
    ("text", "written", "expected"),
    [
        ("import triton", "triton.jit", "triton.jit"),
        ("import triton as t", "t.jit", "triton.jit"),
        ("from triton import jit", "jit", "triton.jit"),
        ("from triton import jit as compiled, autotune", "compiled", "triton.jit"),
        ("import triton.language as tl", "tl.load", "triton.language.load"),
        ("from triton import language as lang", "lang.load", "triton.language.load"),
        ("import triton.language as tl", "tl.math.exp", "triton.language.exp"),
        ("from triton.runtime.jit import jit", "jit", "triton.jit"),
        ("import triton\nimport triton.language", "triton.language.dot", "triton.language.dot"),
        ("import torch.nn.functional as F", "F.softmax", "torch.nn.functional.softmax"),
        ("from torch.nn import functional as F", "F.softmax", "torch.nn.functional.softmax"),
        ("from torch import nn", "nn.Module", "torch.nn.Module"),
        ("from torch.nn import (\n    Linear,  # one\n    Module as M,\n)", "M", "torch.nn.Module"),
        ("import os, torch as T", "T.sum", "torch.sum"),
        ("from torch import \\\n    sum", "sum", "torch.sum"),
        ("from triton import (jit,\n\nimport torch\nx = f()", "torch.sum", "torch.sum"),
        ("import triton.language as tl\nexp = tl.exp", "exp", "triton.language.exp"),
        ("def f():\n    import torch\n    return torch.ones(1)", "torch.sum", "torch.sum"),
        ("try:\n    import triton\nexcept ImportError:\n    triton = None", "triton.jit", "triton.jit"),
        ("import torch\nfrom triton import", "torch.sum", "torch.sum"),
        ("from triton import jit\r\nimport torch\r\n", "torch.sum", "torch.sum"),
        ("from serving.triton_utils import tl, triton", "tl.load", "triton.language.load"),
        ("from serving.triton_utils import tl, triton", "triton.jit", "triton.jit"),
        ("from serving.layers import tl", "tl.load", "serving.layers.tl.load"),
        ("import numpy as np", "torch.sum", None),
        ("x = 1", "x.sum", None),
    ],
)
def test_canonical_names(text: str, written: str, expected: str | None) -> None:
    check(text, written, expected)


def test_a_name_in_the_tree() -> None:
    document = parse("import triton.language as tl\ntl.load(p)\n")
    function = document.tree.root_node.children[1].children[0].child_by_field_name("function")
    assert dotted(document, function, aliases_of(document)) == "triton.language.load"


def test_an_expression_has_no_name() -> None:
    document = parse("import triton.language as tl\nf(tl).load(p)\n")
    function = document.tree.root_node.children[1].children[0].child_by_field_name("function")
    assert dotted(document, function, aliases_of(document)) is None
