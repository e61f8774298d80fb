"""The rules by which survivors are explained, the most particular first."""

import re

from benchmarks.mutants.explained import Changed, Kind, Rule

_SAME = (Kind.EQUIVALENT, Kind.ROUNDING)
_FILLING = ("wrong-other", "wrong-constant")


def _in_kernel(kernel: str, operators: tuple[str, ...], part: str):
    """Survivors of these operators whose new lines contain `part`."""
    return lambda s: s.kernel == kernel and s.operator in operators and part in s.came


def _of_a_fresh_module(s: Changed) -> bool:
    return bool(re.search(r"nn\.Parameter\(|register_buffer\(", s.came)) and "__init__" in _function(s)


def _dropout(s: Changed) -> bool:
    """Its probability, or its call."""
    probability = "__init__" in _function(s) and "dropout" in s.came
    return "nn.Dropout(" in s.baseline and (probability or s.description.startswith("skipped: x = self.dropout("))


def _block_size(s: Changed) -> bool:
    """A whole number that is given to a name in capitals was halved."""
    halved = re.fullmatch(r"(\d+) became (\d+)", s.description)
    named = halved and re.search(rf"\b[A-Z][A-Z_]* ?= ?{halved[2]}\b", s.came)
    return s.operator == "wrong-constant" and bool(named)


def _own_memory(s: Changed) -> bool:
    """A contiguous tensor is assumed of one that the function has allocated or laid out itself."""
    named = re.search(r"a contiguous tensor is assumed: (\w+)\.stride", s.description)
    return bool(named) and bool(
        re.search(rf"^\s*{named[1]} = (torch\.(empty|zeros)|{named[1]}\.contiguous)", s.baseline, re.MULTILINE)
        or re.search(
            rf"^[\w ,]*\b{named[1]}\b[\w ,]* = .*\b{named[1]}\.contiguous\(\)", s.baseline.strip(), re.MULTILINE
        )
    )


def _own_tensor(s: Changed) -> bool:
    """Written over is a name to which the function itself has given the result of an operation."""
    named = re.match(r"(\w+) is written over", s.description)
    above = s.baseline.split("\n")[: s.line]
    inside = above[max((i for i, line in enumerate(above) if line.lstrip().startswith("def ")), default=0) :]
    own = [line for line in inside if named and re.match(rf"\s*{named[1]} = .*[-+*/(]", line)]
    return s.operator == "in-place" and bool(own)


def _exponential_cut(s: Changed) -> bool:
    return s.operator == "approximation" and "< -20, 0.0, tl.exp(" in s.came


def _half_lines(s: Changed) -> bool:
    lines = [line for line in s.baseline.split("\n") if line.startswith("# workload:")]
    return s.operator in ("lower-precision", "wrong-dtype") and bool(lines) and all("float16" in line for line in lines)


def _function(s: Changed) -> str:
    """The `def` that the changed line lies in, or is."""
    above = s.baseline.split("\n")[: s.line + 1]
    return next((line for line in reversed(above) if line.lstrip().startswith("def ")), "")


def _in_float32(case: str) -> bool:
    return "float16" not in case and not case.startswith("as constructed")


RULES: tuple[Rule, ...] = (
    Rule(
        (Kind.OUTSIDE,),
        "The numbers that a fresh module begins with are random or neutral; it is compared with the baseline's in their place.",
        _of_a_fresh_module,
        lambda case: case.startswith("as constructed"),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "Dropout does nothing in evaluation mode, in which modules are called.",
        _dropout,
    ),
    Rule(
        (*_SAME, Kind.OUTSIDE),
        "Another block size; in float32, for which no line asks, a GPU multiplies rounded numbers (TF32) in another order.",
        lambda s: s.kernel == "triton_attention" and _block_size(s),
        _in_float32,
    ),
    Rule(
        (Kind.MISSED,),
        "Reads one element behind the last row, where no call of the gate has an end at a multiple of 16 bytes.",
        _in_kernel("triton_matmul", ("wrong-comparison",), "(offs_n[None, :] <= N), other"),
    ),
    Rule(
        _SAME,
        "Another block size, and what depends on it follows: the same elements, at most summed in another order.",
        _block_size,
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "The tensor is contiguous: the function has allocated it, or laid it out so, itself.",
        _own_memory,
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "What is written over is by then a tensor of the function's own, which nothing reads afterwards.",
        _own_tensor,
    ),
    Rule(
        (Kind.EQUIVALENT, Kind.ROUNDING),
        "What is dropped is below e^-20 = 2e-9 of the row's largest term, less than one rounding of it in float32 (6e-8).",
        _exponential_cut,
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "Beyond K the other operand is filled with 0, and rows and columns beyond M and N are not stored.",
        lambda s: s.kernel == "triton_matmul" and s.operator in _FILLING and "= tl.load(" in s.came,
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "What is loaded beyond the end is replaced by -inf.",
        _in_kernel("triton_argmax", _FILLING, "x = tl.load("),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "Keys beyond the end have the weight exp(-inf) = 0, and queries beyond it are not stored.",
        lambda s: (
            s.kernel == "triton_attention" and s.operator in _FILLING and bool(re.match(r"[qkv] = tl\.load\(", s.came))
        ),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "A query sees keys up to its own place only, and queries beyond the end are not stored: this condition follows.",
        lambda s: (
            s.kernel == "triton_attention"
            and s.operator in ("dropped-mask", "wrong-comparison", "wrong-broadcast", "off-by-one-bound")
            and s.came.startswith("scores = ")
            and "keys[None, :] <= rows[:, None])" in s.came
            and "length - 1" not in s.came
        ),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "The loss of a row that does not count is set to 0 afterwards, whatever was loaded for it.",
        _in_kernel("triton_cross_entropy", _FILLING, "own = tl.load("),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "Columns beyond the end come after all that is stored, and the carry of the last block is not used.",
        _in_kernel("triton_cumsum", _FILLING, "x = tl.load("),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "Words beyond the end are spread out and not stored.",
        _in_kernel("triton_dequantise", _FILLING, "cols // 8, mask=mask, other=1)"),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "Token numbers are below the number of rows of the table, which is below 10,000 in every line.",
        lambda s: s.kernel == "triton_embedding" and s.description == "zeros when a value is above 10000",
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "What is rounded is true or false.",
        _in_kernel("torch_label_smoothing", ("lower-precision",), "kept.half()"),
    ),
    Rule(
        (Kind.OUTSIDE,),
        "Positions up to 2048 are numbers that float16 holds exactly, and no line of the workload has more.",
        _in_kernel("torch_rotary", ("lower-precision",), "torch.arange(length, device=x.device, dtype=torch.float16)"),
    ),
    Rule(
        (Kind.OUTSIDE,),
        "Places up to 2048 are numbers that float16 holds exactly, and no line of the workload has longer rows.",
        _in_kernel("triton_argmax", ("lower-precision",), "place.to(tl.float16)"),
        lambda case: any(int(size) > 2048 for size in re.findall(r"\d+", case)),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "The place is taken modulo the length of the bias, so it lies within it; what is beyond the end is not stored.",
        _in_kernel("triton_bias_gelu", ("dropped-mask",), "bias = tl.load(bias_ptr + i % n_cols)"),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "Columns beyond the end are not stored, and no other column reads the middle tap there.",
        _in_kernel("triton_stencil", _FILLING, "centre = tl.load("),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "Scratch memory of a wider type holds the same numbers.",
        _in_kernel(
            "triton_reverse_add",
            ("wrong-dtype",),
            "scratch = torch.empty((rows, n), device=x.device, dtype=torch.float64)",
        ),
    ),
    Rule(
        (Kind.OUTSIDE,),
        "Offsets of more than 2^31 elements: at effort `paranoid` on a GPU only.",
        lambda s: s.operator == "lower-precision" and "int64 became" in s.description,
    ),
    Rule(
        (Kind.EQUIVALENT, Kind.MISSED),
        "A quotient by a 127th of the largest is at most 127, unless that is all but zero, as no data of the gate are.",
        lambda s: (
            s.kernel == "torch_quantise" and (s.description.startswith("skipped: clamp") or "clamp(-12" in s.came)
        ),
    ),
    Rule(
        (Kind.MISSED,),
        "A race within one program: the interpreter runs its lanes in step, and no GPU was used.",
        lambda s: s.operator == "missing-barrier",
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "The result is contiguous, as the function has allocated it: this stride is 1.",
        lambda s: s.kernel == "triton_matmul" and s.description == "dropped: * stride_cn",
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "In the first block it is multiplied by exp(-inf) = 0.",
        _in_kernel("triton_cross_entropy", ("wrong-constant",), "total = 0.01"),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "Programs beyond the end load and store nothing.",
        _in_kernel("triton_dequantise", ("wrong-constant",), "triton.cdiv(n_words * 9, 256)"),
    ),
    Rule(
        (Kind.MISSED,),
        "Positions up to 256 are numbers that bfloat16 holds exactly, and no line of the workload has more.",
        _in_kernel("torch_rotary", ("lower-precision",), "torch.arange(length, device=x.device, dtype=torch.bfloat16)"),
    ),
    Rule(
        (Kind.MISSED,),
        "Kept by the address of what the function computes on the way: shows where later calls get that memory again.",
        lambda s: s.operator == "stale-cache" and s.kernel == "bias_gelu_dropout_residual",
    ),
    Rule(
        (Kind.MISSED,),
        "In the mean over the rows these roundings nearly cancel: less is left than the allowance of a sum of that length.",
        _in_kernel("triton_cross_entropy", ("lower-precision",), "(largest - new).to(tl.bfloat16)"),
    ),
    Rule(
        (Kind.EQUIVALENT, Kind.ROUNDING, Kind.OUTSIDE),
        "Loses digits that an output of 16 bits, as every line has, does not show; no other dtype was asked for.",
        _half_lines,
        _in_float32,
    ),
)
