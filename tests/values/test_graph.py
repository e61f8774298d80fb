"""Which arguments of a Node are tensors."""

import pytest

from kernelwright.values import Node, TensorRef

ADDED = Node(0, "add", (TensorRef(3), 1.0))


def test_an_operand_is_the_value_that_it_names() -> None:
    assert ADDED.tensor() == 3


def test_a_number_is_no_tensor() -> None:
    with pytest.raises(TypeError, match=r"argument 1 of add is no tensor of the graph: 1\.0"):
        ADDED.tensor(1)
