import math
import re
from pathlib import Path

import pytest

from kernelwright.source.cuda import read
from kernelwright.source.cuda.kernels import find_kernels
from kernelwright.source.workload import evaluate
from kernelwright.values import TensorSpec

EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "cuda").glob("*.cu"))
SIZES = {"float64": 8, "float32": 4, "float16": 2, "int32": 4, "int8": 1, "uint8": 1}


def bytes_of(line: str) -> int:
    tensors = [one for one in evaluate(line).kwargs.values() if isinstance(one, TensorSpec)]
    return sum(math.prod(one.shape) * SIZES[one.dtype] for one in tensors)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_says_how_each_of_its_kernels_is_called(path: Path):
    text = path.read_text(encoding="utf-8")
    file = read(text)
    assert not file.source.tree.root_node.has_error
    lines = re.findall(r"^// workload: (.*)", text, re.M)
    assert len(lines) == 2
    for line in lines:
        call = evaluate(line)
        entry = file.function(call.entry)
        assert entry is not None
        assert {one.name for one in entry.parameters} == call.kwargs.keys()
        assert [one.is_pointer for one in entry.parameters] == [
            isinstance(call.kwargs[one.name], TensorSpec) for one in entry.parameters
        ]
        assert {kernel.entry for kernel in find_kernels(text, (call.entry,))} == {call.entry}
    large, small = map(bytes_of, lines)
    assert small < 1 << 20 < large < 1 << 30


def test_there_are_examples():
    assert len(EXAMPLES) > 15
