"""Multiply fp32 on the tensor cores in parts, so that the error of each is corrected by the others."""

import ast

from kernelwright.macro.rewrites import Chance, triton_rewrite
from kernelwright.macro.strategy import Absent, Example, Family, Observation
from kernelwright.micro.rewrite.triton_sight import Sight
from kernelwright.source.calls import argument
from kernelwright.values import Refusal

_TF32 = 80  # the compute capability from which on tensor cores take TF32 and bf16


def _look(observation: Observation, sight: Sight) -> Chance | Refusal:
    dots = [call for name, call in sight.reading.calls if name == "dot"]
    if not dots:
        return Absent("The kernel has no tl.dot whose operands could be taken apart.")
    exact = [call for call in dots if _is_exact(call)]
    if not exact:
        return Absent(
            'No tl.dot asks for full fp32 products (input_precision="ieee"): they run on tensor cores already.'
        )
    capability = observation.device.compute_capability
    if capability is not None and capability < _TF32:
        return Refusal(f"{observation.device.name} has no tensor cores for TF32 or bfloat16.")
    return Chance(
        f"fp32 product on line {exact[0].lineno}",
        0.5,
        "Full fp32 products run outside of the tensor cores, which do three products of parts in less time.",
    )


def _is_exact(dot: ast.Call) -> bool:
    """Whether a `tl.dot` forbids to round its fp32 operands."""
    precision, allowed = argument(dot, 3, "input_precision"), argument(dot, 4, "allow_tf32")
    if isinstance(precision, ast.Constant):
        return precision.value == "ieee"
    return isinstance(allowed, ast.Constant) and allowed.value is False


_BEFORE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def gram_kernel(x_ptr, out_ptr, M, K, BLOCK: tl.constexpr, BLOCK_K: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    cols = tl.program_id(1).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tl.arange(0, BLOCK_K)
        a_mask = (rows[:, None] < M) & (k[None, :] < K)
        b_mask = (k[:, None] < K) & (cols[None, :] < M)
        a = tl.load(x_ptr + rows[:, None] * K + k[None, :], mask=a_mask, other=0.0)
        b = tl.load(x_ptr + cols[None, :] * K + k[:, None], mask=b_mask, other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee")
    mask = (rows[:, None] < M) & (cols[None, :] < M)
    tl.store(out_ptr + rows[:, None] * M + cols[None, :], total, mask=mask)


# workload: gram(randn(4096, 1024))
# workload: gram(randn(67, 45))
def gram(x):
    x = x.contiguous()
    M, K = x.shape
    out = torch.empty((M, M), device=x.device, dtype=torch.float32)
    grid = (triton.cdiv(M, 64), triton.cdiv(M, 64))
    gram_kernel[grid](x, out, M, K, BLOCK=64, BLOCK_K=32)
    return out
"""

_AFTER = _BEFORE.replace(
    """\
        total = tl.dot(a, b, total, input_precision="ieee")
""",
    """\
        # Each operand is a TF32 number and what that leaves; the product of the two rests is below the last digit.
        total = tl.dot(a, b, total, input_precision="tf32x3")
""",
)

STRATEGY = triton_rewrite(
    "corrected-precision",
    "Multiply in corrected lower precision",
    _look,
    family=Family.PRECISION,
    why="Three products of lower precision on the tensor cores take less time than one in fp32, and lose hardly a digit.",
    doc="""\
Splits each fp32 operand into a number of lower precision and the rest, and adds up the products that matter: high x high,
high x low, low x high. Triton does so for `input_precision="tf32x3"`; other splits are written out.

It pays for compute-bound fp32 products. It does not pay where memory bounds the kernel, or where a plain TF32 product is
accurate enough for the user, who then says so. NaN, infinities and numbers near the ends of the range of fp32 may come out
otherwise: the gate looks at them.

**Refused:** kernels without a `tl.dot`; products that do not ask for full fp32; devices older than compute capability 8.0.
""",
    instruction="""\
Run the fp32 product on the tensor cores as several products of lower precision whose sum keeps nearly all digits of fp32.
1. Try `input_precision="tf32x3"` first: Triton splits each operand into a TF32 number and the rest, and adds three
   products. It keeps about 21 bits, which passes as full fp32 accuracy for most products.
2. Where that is not enough, `input_precision="bf16x6"` (three bf16 parts each, six products) keeps 24 bits, if this Triton
   has it.
3. To write a split out: `high = x.to(tl.bfloat16)`, `rest = x - high.to(tl.float32)`, `low = rest.to(tl.bfloat16)`. Add the
   small products first: low x high, high x low, then high x high, all into one fp32 accumulator. Only low x low may be left
   out.
4. Split once for each loaded tile, not in each product, and keep what is not a product (bias, scale, softmax) in fp32.
Pitfalls: fp16 parts overflow above 65504 and lose small numbers, so prefer bf16 or TF32 parts, which have the exponent of
fp32, or scale rows by powers of two and undo it exactly. An infinity minus itself is NaN: the rest of a number that is not
finite has to be 0, or the product is left to full precision. Masked lanes are 0 in all parts. More parts need more
registers and shared memory: take smaller tiles or fewer stages if the kernel spills. The accumulator is fp32 throughout.
A single product in TF32 or bf16 without correction is not an answer: it loses 13 bits and is refused.
It pays for large fp32 products; it does not where the kernel is bound by memory.
Do not change the launcher's signature, the results' dtype, or the shapes, dtypes and strides that are accepted.""",
    example=Example(_BEFORE, _AFTER),
)
