"""A Program as Triton source that a person would keep: a kernel, its launching function and the call."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kernelwright.micro.rewrite import sizes
from kernelwright.micro.rewrite.long_lines import fitted
from kernelwright.micro.rewrite.program import Operand, Program
from kernelwright.nest.layouts import CONTIGUOUS
from kernelwright.ops.device_functions import DEVICE_FUNCTIONS
from kernelwright.place.layout import call_text


@dataclass(frozen=True)
class Printed:
    """`definitions` go to module level; `call` is the launcher's call with the region's inputs."""

    definitions: str
    call: str
    summary: str


@dataclass
class Constants:
    """Sizes that the kernel takes as constexpr, so that divisions by them are cheap: expression -> name."""

    names: dict[str, str] = field(default_factory=dict)

    def name(self, expression: str, base: str) -> str:
        if expression.isdecimal():
            return expression
        if expression not in self.names:
            taken = set(self.names.values())
            self.names[expression] = next(n for n in (base, *(f"{base}_{i}" for i in range(2, 99))) if n not in taken)
        return self.names[expression]


def pointers(program: Program) -> dict[int, str]:
    """The kernel's name for the pointer to each input Value."""
    names: dict[int, str] = {}
    for operand in program.operands:
        names.setdefault(operand.value, operand.name)
    return names


def index_text(program: Program, operand: Operand, flat: str, constants: Constants) -> str:
    """The operand's index from the flat offset `flat`, which is a name."""
    if operand.terms is None:
        return flat
    parts: list[str] = []
    for term, place in zip(operand.terms, operand.dims, strict=True):
        inner = sizes.suffix(program, operand, term)
        text = flat if inner == "1" else f"{flat} // {constants.name(inner, 'INNER')}"
        if not term.outermost:
            text = f"({text})" if "//" in text else text
            pointer = pointers(program)[operand.value]
            size = sizes.term_size(pointer, operand.shape, term, place, any_rank=program.any_rank)
            text = f"{text} % {constants.name(size, _size_name(operand))}"
        if term.stride != 1:
            dim = place[1] - 1 - (len(operand.shape) if program.any_rank else 0)
            stride = f"{pointers(program)[operand.value]}.stride({dim})"
            text = f"({text}) * {constants.name(stride, 'STRIDE')}"
        parts.append(text if len(operand.terms) == 1 or term.stride != 1 else f"({text})")
    return " + ".join(parts)


def _size_name(operand: Operand) -> str:
    return "CHANNELS" if len(operand.terms or ()) == 1 else "SIZE"


def load(program: Program, operand: Operand, index: str, mask: str, *, other: bool = False) -> str:
    """`name = tl.load(…)`, converted to fp32 unless it is a boolean."""
    pointer = f"{pointers(program)[operand.value]}_ptr"
    if operand.terms == ():
        loaded = f"tl.load({pointer})"
    else:
        place = index if index.isidentifier() else f"({index})"
        masked = f", mask={mask}" + (", other=0" if other else "") if mask else ""
        loaded = f"tl.load({pointer} + {place}{masked})"
    return f"{operand.name} = {loaded}" + (" != 0" if operand.dtype == "bool" else ".to(tl.float32)")


def kernel_source(name: str, parameters: Sequence[str], docstring: str, body: Sequence[str]) -> str:
    head = call_text(f"def {name}", parameters, ":", 0)
    return "\n".join(["@triton.jit", head, f'    """{docstring}"""', *_indented(body)])


def launcher_source(name: str, parameters: Sequence[str], docstring: str, body: Sequence[str]) -> str:
    head = call_text(f"def {name}", parameters, ":", 0)
    return "\n".join([head, f'    """{docstring}"""', *_indented(body)])


def _indented(body: Sequence[str]) -> Iterator[str]:
    for line in body:
        yield from fitted(f"    {line}")


def helper_sources(program: Program, existing: str) -> list[str]:
    """The device functions that the kernel calls and the file does not have yet."""
    return [DEVICE_FUNCTIONS[h] for h in program.helpers if f"def {h}(" not in existing]


def launch_parameters(program: Program) -> list[str]:
    """The launcher's parameters: tensors, then numbers."""
    return [*pointers(program).values(), *program.scalars]


def prepare_inputs(program: Program) -> list[str]:
    """Lines of the launcher that bring full tensors into the layout that the kernel walks through."""
    layout = program.domain.layout
    how = "" if layout == CONTIGUOUS else f"memory_format={_memory_format(program, layout)}"
    lines: list[str] = []
    names = pointers(program)
    full = {names[o.value]: None for o in program.operands if o.terms is None and o.level == "element"}
    rest = {names[o.value]: None for o in program.operands if names[o.value] not in full}
    lines += [f"{name} = {name}.contiguous({how})" for name in full]
    lines += [f"{name} = {name}.contiguous()" for name in rest if _has_terms(program, name, names)]
    return lines


def _has_terms(program: Program, name: str, names: dict[int, str]) -> bool:
    return any(names[o.value] == name and o.terms != () for o in program.operands)


def allocate(program: Program, main_dtype: str) -> str:
    """The line that makes the launcher's result."""
    if program.result_level != "element":
        return allocate_shape(program, main_dtype, sizes.result_shape(program) or "()")
    format_ = f", memory_format={_memory_format(program, program.result_layout)}" if program.transposes else ""
    return f"out = torch.empty_like({program.main.name}{_dtype(program, main_dtype)}{format_})"


def allocate_shape(program: Program, main_dtype: str, shape: str) -> str:
    """The line that makes a result of another shape than the main tensor's."""
    main, dtype = program.main.name, _dtype(program, main_dtype)
    if program.result_layout == CONTIGUOUS:
        return f"out = {main}.new_empty({shape}{dtype})"
    format_ = f"memory_format={_memory_format(program, program.result_layout)}"
    return f"out = torch.empty({shape}{dtype or f', dtype={main}.dtype'}, device={main}.device, {format_})"


def _dtype(program: Program, main_dtype: str) -> str:
    same = program.result_dtype == main_dtype and not program.casts
    return "" if same else f", dtype=torch.{program.result_dtype}"


def _memory_format(program: Program, layout: str) -> str:
    if layout == CONTIGUOUS:
        return "torch.contiguous_format"
    return "torch.channels_last" if len(program.domain.shape) == 4 else "torch.channels_last_3d"


def is_wide(program: Program) -> bool:
    """Whether offsets need 64 bits for the captured sizes."""
    return program.domain.numel + 65536 >= 2**31
