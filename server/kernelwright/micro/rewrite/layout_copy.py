"""A kernel that copies a contiguous tensor into channels-last memory, for the entries of channels-last convolutions."""

import math

from kernelwright.micro.rewrite.naming import base_name
from kernelwright.micro.rewrite.print_transposing import print_transposing, tiles
from kernelwright.micro.rewrite.program import ELEMENT, Domain, Operand, Program
from kernelwright.micro.rewrite.tensor_layout import CHANNELS_LAST
from kernelwright.micro.rewrite.triton_printer import Printed
from kernelwright.place.layout import free_names
from kernelwright.place.source_map import SourceMap
from kernelwright.values import TensorType

LARGE = 2**24  # bytes of a tensor whose copy takes much longer than a launch


def is_large(type_: TensorType) -> bool:
    """Whether a copy of fp32 or half-precision numbers of this type is worth a kernel of its own."""
    return math.prod(type_.shape) * (4 if type_.dtype == "float32" else 2) >= LARGE


def copy_kernel(source: SourceMap, type_: TensorType) -> Printed:
    """The kernel and its launcher, for tensors of the rank of `type_`; the tile suits its number of channels."""
    rank = len(type_.shape)
    domain = Domain(0, type_.shape, math.prod(type_.shape), axes=(rank, rank))
    x = Operand("x", 0, ELEMENT, type_.dtype, shape=type_.shape)
    program = Program(
        domain, (x,), {}, (), "x", ELEMENT, type_.shape, type_.dtype, result_layout=CHANNELS_LAST, any_dtype=True
    )
    base = base_name(program) + ("_3d" if rank == 5 else "")
    names = free_names(source, (f"{base}_kernel", f"fused_{base}"))
    return print_transposing(program, type_.dtype, (names[0], names[1]), tiles(program)[0], source.text)
