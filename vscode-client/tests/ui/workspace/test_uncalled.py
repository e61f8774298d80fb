import torch
from uncalled import scaled


def test_nothing_is_negative():
    assert scaled(torch.randn(64, 32)).min() >= 0
