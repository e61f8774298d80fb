"""Makes one Triton kernel of elements that a tensor of indices picks and the operations around them."""

from kernelwright.macro.nests import fusion
from kernelwright.macro.strategy import Example
from kernelwright.micro.rewrite.nested import gather_regions

_BEFORE = '''import torch
import torch.nn as nn


class Model(nn.Module):
    """Embeddings of tokens, scaled, with those of their places added."""

    def __init__(self, tokens, length, width):
        super().__init__()
        self.tokens = nn.Embedding(tokens, width)
        self.places = nn.Parameter(torch.randn(length, width))
        self.scale = width**0.5

    def forward(self, ids):
        return self.tokens(ids) * self.scale + self.places


def get_inputs():
    return [torch.randint(0, 100, (4, 9))]


def get_init_inputs():
    return [100, 9, 20]
'''

_AFTER = '''import torch
import torch.nn as nn
import triton
import triton.language as tl


@triton.jit
def embedding_mul_add_kernel(
    ids_ptr,
    weight_ptr,
    places_ptr,
    out_ptr,
    n_elements,
    scale,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
    WIDTH_2: tl.constexpr,
    BLOCK: tl.constexpr,
):
    """Embedding, multiply and add, a block of results a program."""
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n_elements
    plane = offsets // WIDTH
    channel = plane % WIDTH_2
    step = offsets % WIDTH
    ids = tl.load(ids_ptr + plane, mask=mask, other=0)
    inside = mask & (ids >= 0) & (ids < ROWS)
    tl.device_assert(inside, "ids is out of range", mask=mask)
    weight_at = ids * WIDTH + step
    weight = tl.load(weight_ptr + weight_at, mask=inside, other=0).to(tl.float32)
    product = weight * scale
    places_at = channel * WIDTH + step
    places = tl.load(places_ptr + places_at, mask=mask, other=0).to(tl.float32)
    total = product + places
    tl.store(out_ptr + offsets, total, mask=mask)


def fused_embedding_mul_add(ids, weight, places, scale):
    """Embedding, multiply and add in one kernel, in fp32."""
    if (
        weight.dim() != 2
        or weight.dtype not in (torch.float32, torch.float16, torch.bfloat16)
        or ids.dtype != torch.int64
        or places.dtype != weight.dtype
        or ids.dim() != 2
        or places.dim() != 2
        or ids.numel() >= 2**31
        or places.numel() >= 2**31
        or places.shape[0] != ids.shape[1]
        or places.shape[1] != weight.shape[1]
        or weight.numel() >= 2**31
    ):
        raise ValueError(
            "fused_embedding_mul_add takes weight of 2 dimensions; weight of float32 "
            "or float16 or bfloat16; ids of dtype torch.int64; places of dtype "
            "weight.dtype; ids of 2 dimensions; places of 2 dimensions; ids of fewer "
            "than 2**31 elements; places of fewer than 2**31 elements; places.shape[0] "
            "of ids.shape[1]; places.shape[1] of weight.shape[1]; fewer than 2**31 "
            "elements"
        )
    if torch.is_grad_enabled() and any(t.requires_grad for t in (weight, places)):
        embedding = torch.nn.functional.embedding(ids, weight)
        product = embedding * scale
        return product + places
    ids = ids.contiguous()
    weight = weight.contiguous()
    places = places.contiguous()
    out = weight.new_empty((*ids.shape[:2], weight.shape[1]))
    if out.numel() >= 2**31:
        raise ValueError("fused_embedding_mul_add makes fewer than 2**31 elements")
    n_elements = out.numel()
    grid = (triton.cdiv(n_elements, 512),)
    embedding_mul_add_kernel[grid](
        ids,
        weight,
        places,
        out,
        n_elements,
        scale,
        ROWS=weight.shape[0],
        WIDTH=weight.shape[1],
        WIDTH_2=ids.shape[1],
        BLOCK=512,
        num_warps=4,
        debug=True,
        sanitize_overflow=False,
    )
    return out


class Model(nn.Module):
    """Embeddings of tokens, scaled, with those of their places added."""

    def __init__(self, tokens, length, width):
        super().__init__()
        self.tokens = nn.Embedding(tokens, width)
        self.places = nn.Parameter(torch.randn(length, width))
        self.scale = width**0.5

    def forward(self, ids):
        return fused_embedding_mul_add(ids, self.tokens.weight, self.places, self.scale)


def get_inputs():
    return [torch.randint(0, 100, (4, 9))]


def get_init_inputs():
    return [100, 9, 20]
'''


STRATEGY = fusion(
    "gather",
    gather_regions,
    reason="Eager mode writes what was picked before it is read again; one kernel picks and computes at once.",
    why="What indices pick goes through memory before it is used; one kernel picks it where it is needed.",
    doc="""\
Embeddings, `index_select`, `gather` and subscripts by one tensor of indices become one Triton kernel together with the
pointwise operations around them, and reductions that take them. What stands in front of a gather is computed for the
elements that are picked alone.

An index out of range stops the kernel with a device assertion, as it stops those of torch. The kernel never reads what such an
index points at.

What it cannot do: indices that are computed in the region, embeddings with `max_norm`, which change their weight, a `gather`
whose index is smaller than its operand in other dims, products, pools and scans of what was picked. The kernel has no
backward: where autograd is on and an input requires a gradient, the launcher runs the operations of torch instead.
""",
    instruction=(
        "Replace the gather and the pointwise operations around it by one Triton kernel and a launching function above the "
        "class. Load the index, check it with tl.device_assert and mask the load that it is for; launch with debug=True and "
        "sanitize_overflow=False. Change no other line."
    ),
    example=Example(_BEFORE, _AFTER),
)
