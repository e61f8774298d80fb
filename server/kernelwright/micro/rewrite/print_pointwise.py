"""Prints a pointwise Program: one program per block of the dense tensor, in storage order."""

from kernelwright.micro.rewrite import triton_printer as tp
from kernelwright.micro.rewrite.naming import in_words
from kernelwright.micro.rewrite.program import Program
from kernelwright.micro.rewrite.relies import check, limits, relied_on

# (BLOCK, num_warps): eight elements a thread come close to the roof on every part; which one wins, a measurement says.
VARIANTS = ((1024, 4), (2048, 8), (512, 4), (4096, 8))


def print_pointwise(
    program: Program, main_dtype: str, names: tuple[str, str], block: int, warps: int, existing: str
) -> tp.Printed:
    """Kernel, launcher and call; `names` are those of the kernel and of the launcher."""
    kernel, launcher = names
    constants = tp.Constants()
    loads = [tp.load(program, o, tp.index_text(program, o, "offsets", constants), "mask") for o in program.operands]
    tensors = list(tp.pointers(program).values())
    wide = tp.is_wide(program)
    start = "tl.program_id(0).to(tl.int64)" if wide else "tl.program_id(0)"
    body = [
        f"offsets = {start} * BLOCK + tl.arange(0, BLOCK)",
        "mask = offsets < n_elements",
        *loads,
        *(f"{line.name} = {line.expression}" for line in program.lines),
        f"tl.store(out_ptr + offsets, {program.result}, mask=mask)",
    ]
    parameters = [
        *(f"{t}_ptr" for t in tensors),
        "out_ptr",
        "n_elements",
        *program.scalars,
        *(f"{name}: tl.constexpr" for name in constants.names.values()),
        "BLOCK: tl.constexpr",
    ]
    doc = f"{in_words(program, 36)} over a dense tensor, one block a program."
    arguments = [
        *tensors,
        "out",
        "n_elements",
        *program.scalars,
        *(f"{name}={expression}" for expression, name in constants.names.items()),
        f"BLOCK={block}",
        f"num_warps={warps}",
    ]
    launch = [
        *check(relied_on(program, launcher)),
        *tp.prepare_inputs(program),
        tp.allocate(program, main_dtype),
        "n_elements = out.numel()",
        f"grid = (triton.cdiv(n_elements, {block}),)",
        tp.call_text(f"{kernel}[grid]", arguments, "", 4),
        "return out",
    ]
    doc_of_launcher = f"{in_words(program, 42)} in one pass, in fp32{limits(program.eager)}."
    function = tp.launcher_source(launcher, tp.launch_parameters(program), doc_of_launcher, launch)
    sources = [*tp.helper_sources(program, existing), tp.kernel_source(kernel, parameters, doc, body), function]
    return tp.Printed("\n\n\n".join(sources), launcher, f"BLOCK={block}, num_warps={warps}")
