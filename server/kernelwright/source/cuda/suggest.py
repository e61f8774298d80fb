"""Workload lines for a kernel from its text: sizes by its indices and guards, dtypes by its types, numbers by their names."""

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kernelwright.source import polynomials
from kernelwright.source.cuda import templates
from kernelwright.source.cuda.accesses import accesses
from kernelwright.source.cuda.definitions import File, Function, Launch, Parameter
from kernelwright.source.cuda.expressions import Names
from kernelwright.source.cuda.extents import STRETCH, extents
from kernelwright.source.cuda.flattened import flattened, with_structures
from kernelwright.source.cuda.flow import Flow
from kernelwright.source.cuda.geometry import BLOCK, NO_SIZE, as_written, passed_on, threads_of, told, usual
from kernelwright.source.cuda.numbers import Numbers
from kernelwright.source.cuda.pitches import with_rows_apart
from kernelwright.source.cuda.stretches import begins
from kernelwright.source.cuda.text import field, is_inside, of_type
from kernelwright.source.cuda.types import ARRAY, DTYPES, ENUM, UNSIGNED, VECTOR, WHOLE, dtype_of, is_known
from kernelwright.source.polynomials import Polynomial
from kernelwright.source.workload.evaluate import WorkloadError, evaluate
from kernelwright.values import Kernel, Refusal, TensorSpec

_NUMBERS = (("eps", "1e-5"), ("inv|rcp", "0.125"), ("scale|alpha|factor", "1.5"), ("beta", "0.5"))
_UNKNOWN = (
    "float",
    "__nv_bfloat16",
    "half",
    "int",
    "unsigned char",
    "double",
)  # what a name of another file may stand for
_LARGE = {1: (1 << 24,), 2: (4096, 4096), 3: (1024, 1024, 1024)}
_MOST = 1 << 28  # elements of all tensors of a line
_ODD = (67, 45, 83, 31, 29)
_EVEN = (256, 128, 64, 32, 32)
_ALONE = (1 << 24, 10007, 4096)  # the only size: for timing, odd, and a multiple of every block
_HELD = 16  # what indices stay below, where nothing says how many there are of what they choose from
_SMALL = 4  # an integer that is no size
_NAME = re.compile(r"[A-Za-z_]\w*")
_OF_PRODUCT = (("a", "mk"), ("b", "kn"), (r"c|d|out\w*", "mn"))
"""The sizes of the matrices of a product by what they are called, where accesses do not tell them."""
_FEW = re.compile(
    r"r|R|k|top_?k|radius|.*(?:kernel_size|ksize|window|sweeps|steps|iters?|iterations|stride|pad|padding|dilation|groups)"
)
"""Integers that are small by what they are called; `k` beside `m` and `n` is a size."""


class _Room(NamedTuple):
    """Sizes, the `last` of them, and elements that are enough for their product, for indices that cannot be followed.

    With `ordered` whole numbers that are read rise by one, so that they lie within each tensor, no two alike.
    """

    size: int
    last: int
    elements: int
    ordered: bool = False


_ROOMS = (
    _Room(8, 8, 1 << 12),
    _Room(8, 8, 1 << 12, ordered=True),  # chains of indices, places to write to, where stretches begin
    _Room(32, 32, 1 << 15),  # sizes that have to be equal, or multiples of a warp
    _Room(4, 512, 1 << 14),  # rows of a vector for each lane of a warp
)


@dataclass(frozen=True)
class _Plan:
    """What a call of the entry needs: elements behind pointers, the sizes that they depend on, and all other integers."""

    entry: Function
    elements: Mapping[str, tuple[Polynomial, ...]]
    sizes: tuple[str, ...]
    written: Mapping[str, frozenset[str]]
    held: Mapping[str, str]
    begins: frozenset[str]  # what says where stretches of others begin
    launched: Mapping[str, str]  # what is given for a grid, a block, or bytes of shared memory


def lines_from_signature(file: File, kernel: Kernel) -> tuple[str, ...] | Refusal:
    """Calls of a kernel's entry, best first; the first one is for timing. They are guesses: a worker has to try them."""
    flat = flattened(file)
    if flat is not file:
        made = lines_from_signature(flat, kernel)
        if isinstance(made, Refusal):
            return made
        told = tuple(dict.fromkeys(one for line in made if (one := with_structures(line)) is not None))
        return told or Refusal(f"Two fields of {kernel.name} have one name: write a line by hand.", kernel.start_line)
    function = file.kernel(kernel.name)
    if function is None:
        return Refusal("The kernel cannot be read.", kernel.start_line)
    entry = file.function(kernel.entry) if kernel.entry is not None else None
    entry = entry if entry is not None else function
    if not entry.templates:
        return _lines(file, entry, "", file.launches_of(entry.name))
    found = [_lines_of_template(file, entry, given) for given in templates.arguments(file, entry)]
    lines = [one for several in found if not isinstance(several, Refusal) for one in several]
    refusals = (one for one in found if isinstance(one, Refusal))
    unknown = Refusal(f"Nothing says what the template arguments of {entry.name} are.", kernel.start_line)
    return tuple(dict.fromkeys(lines)) or next(refusals, unknown)


def _lines_of_template(file: File, entry: Function, given: tuple[str, ...]) -> tuple[str, ...] | Refusal:
    made = templates.specialised(file, entry, given)
    function, launches = made.function(entry.name), made.launches_of(entry.name)
    mine = [templates.launched(file, entry, one) == given for one in file.launches_of(entry.name)]
    launching = tuple(itertools.compress(launches, mine)) or launches
    return _lines(made, function, f"<{', '.join(given)}>", launching) if function is not None else ()


def _lines(file: File, entry: Function, template: str, launches: Sequence[Launch]) -> tuple[str, ...] | Refusal:
    """Lines for the launches that stand in the text, and for usual ones."""
    forms = told(file, entry, launches) if entry.is_kernel else ()
    plan = _plan(file, entry, launches, frozenset(_NAME.findall(" ".join(forms))))
    if isinstance(plan, Refusal):
        return plan
    known = _numbers_in_calls(file, plan.entry)
    touched = [one for several in plan.elements.values() for one in several]
    values = [
        with_rows_apart(touched, dict(zip(plan.sizes, sizes, strict=False)), equal=not number)
        for number, sizes in enumerate(_choices(len(plan.sizes)))
    ]
    if plan.sizes and all(name in known for name in plan.sizes):
        values.insert(0, {name: known[name] for name in plan.sizes})
    sized = plan.sizes or (str(NO_SIZE),)
    sure, fixed = (
        [one for one in forms if bool(_NAME.search(one.replace("dim3", ""))) is named] for named in (True, False)
    )
    forms = (*sure, *usual(file, entry, launches, sized), *fixed) if entry.is_kernel else ("",)
    dtypes = _UNKNOWN if any(one.is_pointer and not dtype_of(file, one.base) for one in entry.parameters) else ("",)
    found = [
        _fitting(file, plan, sizes, known, f"{template}{form}", dtype)
        for dtype in dtypes
        for form in forms
        for sizes in values
    ]
    for room in _ROOMS:
        small = {**dict.fromkeys(plan.sizes, room.size), **dict.fromkeys(plan.sizes[-1:], room.last)}
        found += [
            _line(file, plan, small, known, f"{template}{form}", dtype, room) for dtype in dtypes for form in forms[:1]
        ]
    return tuple(dict.fromkeys(found))


def _plan(file: File, entry: Function, own: Sequence[Launch], launched: frozenset[str]) -> _Plan | Refusal:
    """`own`: the launches of a kernel that is its own entry; `launched`: the names that they are made of."""
    launches: list[tuple[Function, Launch | None]] = [
        (kernel, launch)
        for launch in file.launches
        if launch.function is entry and (kernel := file.kernel(launch.kernel)) is not None
    ]
    itself = not launches and entry.is_kernel
    launches = launches or ([(entry, next(iter(own), None))] if itself else [])
    unknown = next((one for one in entry.parameters if not is_known(file, one)), None)
    if unknown is not None:
        parameter = file.source.content(unknown.node)
        return Refusal(f"Nothing says what to pass for `{parameter}` of {entry.name}.", unknown.node.start_point.row)
    elements: dict[str, list[Polynomial]] = {}
    written: dict[str, set[str]] = {}
    held: dict[str, str] = {}
    starting: set[str] = set()
    for kernel, launch in launches:
        outer = {} if itself else _outer_names(file, kernel, launch)
        starting |= {outer.get(name, name) for name in begins(Names(file, kernel))}
        indices = _indices(Names(file, kernel))
        found = extents(file, kernel, launch, dict.fromkeys(indices, _HELD), itself)
        for name, several in found.items():
            elements.setdefault(outer.get(name, name), []).extend(several)
        for access in accesses(Names(file, kernel)):
            if access.space == "global":
                written.setdefault(outer.get(access.base, access.base), set()).add(access.kind)
        for name in _taken(Names(file, kernel)):
            written.setdefault(outer.get(name, name), set()).add("update")
        held |= {outer.get(name, name): str(_HELD) for name in indices}
    known = [(kernel, launch) for kernel, launch in launches if launch is not None and not itself]
    bytes_ = {file.source.content(one.shared) for _, one in known if one.shared is not None}
    numbers = [one.name for one in entry.parameters if not one.is_pointer and WHOLE.match(one.base)]
    whole = [name for name in numbers if name not in bytes_]
    used = {name for several in elements.values() for one in several for name in one.names}
    used |= {
        outer for kernel, launch in launches for outer in _limits(file, kernel, None if itself else launch)
    } | launched
    used -= {name for name in used if BLOCK.fullmatch(name)}
    product = {"m", "n", "k"} <= {name.lower() for name in whole}
    used |= {name for name in whole if product and name.lower() in ("m", "n", "k")}
    sizes = tuple(name for name in whole if name in used and (product or not _FEW.fullmatch(name))) or tuple(whole[:3])
    given = {name: value for one in known for name, value in passed_on(file, *one, sizes).items()}
    kinds = {name: frozenset(kinds) for name, kinds in written.items()}
    counted = {name: tuple(found) for name, found in elements.items()}
    return _Plan(entry, counted, sizes, kinds, held, frozenset(starting), given)


def _taken(names: Names) -> Iterator[str]:
    """The pointers that are written through in another way than by an index of their own, as far as anyone can tell."""
    content = names.file.source.content
    starts = [one.start for one in accesses(names) if one.start is not None]
    for node in of_type(names.function.body, "identifier"):
        parameter, parent = names.function.parameter(content(node)), node.parent
        if parameter is None or not parameter.is_pointer or parameter.is_const or parent is None:
            continue
        subscripted = parent.type == "subscript_expression" and field(parent, "argument") == node
        above = parent.parent if subscripted else None
        address = above is not None and above.type == "pointer_expression" and above.children[0].type == "&"
        if not (subscripted and not address) and not any(is_inside(node, one) for one in starts):
            yield parameter.name


def _outer_names(file: File, kernel: Function, launch: Launch | None) -> dict[str, str]:
    """The launcher's names of a kernel's parameters, where one is passed on as it is."""
    if launch is None:
        return {}
    pairs = zip(kernel.parameters, launch.arguments, strict=False)
    return {one.name: file.source.content(argument) for one, argument in pairs if argument.type == "identifier"}


def _limits(file: File, kernel: Function, launch: Launch | None) -> Iterator[str]:
    """The launcher's names of what conditions of the kernel compare with, and of what its launch is made of."""
    outer = _outer_names(file, kernel, launch)
    if launch is not None:
        yield from Names(file, launch.function).behind(launch.configuration)
    for node in of_type(kernel.body, "binary_expression"):
        operator, right = field(node, "operator"), field(node, "right")
        if operator is not None and right is not None and file.source.content(operator) in ("<", "<=", ">="):
            yield from (outer.get(name, name) for name in Names(file, kernel).polynomial(right).names)


def _indices(names: Names) -> set[str]:
    """The arrays whose elements are indices into others: `table[ids[i]]`."""
    found = set[str]()
    for access in accesses(names):
        for index in access.indices:
            for inner in of_type(index, "subscript_expression"):
                array = field(inner, "argument")
                if array is not None and array.type == "identifier":
                    found.add(names.file.source.content(array))
            for name in names.behind(index):
                value = names.values.get(name)
                if value is not None and value.type == "subscript_expression" and (array := field(value, "argument")):
                    found.add(names.file.source.content(array))
    return found


def _choices(count: int) -> Iterator[tuple[int, ...]]:
    """Sizes to try: large ones for timing, then small ones that no block divides, then small ones that blocks divide."""
    if count <= 1:
        yield from ((size,) for size in _ALONE)
        return
    yield _LARGE.get(count, (*_LARGE[3], *itertools.repeat(8, count - 3)))
    yield tuple(itertools.islice(itertools.cycle(_ODD), count))
    yield tuple(itertools.islice(itertools.cycle(_EVEN), count))


def _numbers_in_calls(file: File, entry: Function) -> dict[str, int]:
    """The numbers that a call of the entry elsewhere in the file passes for its parameters, as `main` does."""
    for function in (one for one in file.functions if entry.name.encode() in (one.body.text or b"")):
        numbers = Numbers(Flow(file, function), {})
        for call in of_type(function.body, "call_expression"):
            callee, listed = field(call, "function"), field(call, "arguments")
            name = field(callee, "name") if callee is not None and callee.type == "template_function" else callee
            if name is None or listed is None or file.source.content(name) != entry.name or function is entry:
                continue
            given = [one for one in listed.named_children if one.type != "comment"]
            pairs = zip(entry.parameters, (numbers.whole(one) for one in given), strict=False)
            return {one.name: value for one, value in pairs if value is not None and not one.is_pointer}
    return {}


def _fitting(
    file: File, plan: _Plan, sizes: Mapping[str, int], known: Mapping[str, int], form: str, unknown: str
) -> str:
    """The line, with sizes halved until its tensors are no more than fit beside other work."""
    while True:
        line = _line(file, plan, sizes, known, form, unknown)
        smaller = {name: max(size // 2, _SMALL) for name, size in sizes.items()}
        if smaller == sizes or _total(line) <= _MOST:
            return line
        sizes = smaller


def _total(line: str) -> int:
    """The elements of a line's tensors."""
    try:
        call = evaluate(line)
    except WorkloadError as error:
        return _MOST + 1 if "too large" in error.message else 0
    return sum(math.prod(one.shape) for one in (*call.args, *call.named.values()) if isinstance(one, TensorSpec))


def _line(
    file: File,
    plan: _Plan,
    sizes: Mapping[str, int],
    known: Mapping[str, int],
    form: str,
    unknown: str,
    room: _Room | None = None,
) -> str:
    """`form` stands between the name and the arguments; `unknown` is the type behind pointers whose type is not told.

    With `room` every tensor has as many elements as it says.
    """
    given = [_argument(file, plan, one, sizes, known, unknown, room) for one in plan.entry.parameters]
    listed = ", ".join(f"{one.name}={value}" for one, value in zip(plan.entry.parameters, given, strict=True))
    return f"{plan.entry.name}{form}({listed})"


def _argument(
    file: File,
    plan: _Plan,
    one: Parameter,
    sizes: Mapping[str, int],
    known: Mapping[str, int],
    unknown: str,
    room: _Room | None,
) -> str:
    base = file.aliases.get(one.base, one.base)
    if one.is_pointer:
        return _tensor(plan, one, dtype_of(file, base) or unknown, sizes, room)
    if one.name in sizes or one.name in plan.launched:
        return plan.launched.get(one.name) or str(sizes[one.name])
    if WHOLE.match(base):
        usual_number = threads_of(file, plan.entry, one.name) if BLOCK.fullmatch(one.name) else _SMALL
        return str(known.get(one.name, usual_number))
    if (array := ARRAY.match(base)) is not None:
        each = "1" if WHOLE.match(file.aliases.get(array[1], array[1])) else "0.75"
        return f"({', '.join([each] * int(array[2]))}{',' if array[2] == '1' else ''})"
    if (vector := VECTOR.match(base)) is not None:
        return f"({', '.join(['1'] * int(vector[2]))})"
    if (enumeration := ENUM.match(base)) is not None:
        return enumeration[1]
    if base == "dim3":
        return "(1, 1, 1)"
    if base == "bool":
        return "True"
    if base == "cudaStream_t":
        return "0"
    return next((number for pattern, number in _NUMBERS if re.search(pattern, one.name, re.IGNORECASE)), "0.75")


def _tensor(plan: _Plan, one: Parameter, base: str, sizes: Mapping[str, int], room: _Room | None) -> str:
    vector = VECTOR.match(base)
    kind = vector[1] if vector else base
    dtype = DTYPES.get(kind, "")
    elements = (str(room.elements) if room else _elements(plan, one.name, sizes)) + (f"*{vector[2]}" if vector else "")
    option = f", dtype={dtype}" if dtype else ""
    kinds = plan.written.get(one.name, frozenset())
    if not one.is_const and kinds and kinds <= {"store"} and not room:
        return f"out({elements}{option})"
    whole = polynomials.number(room.elements) if room else _extent(plan, one.name, sizes)
    only_read = one.is_const or kinds == {"load"}
    if room and room.ordered and dtype.startswith("int") and only_read:
        made = f"arange({elements}{option})"
    elif one.name in plan.begins and whole is not None:
        last = (whole - polynomials.number(1)) * polynomials.number(STRETCH)
        made = f"offsets({elements}, {as_written(last, _order(plan))}{option or ', dtype=int32'})"
    elif one.name in plan.held:
        made = f"randint(0, {plan.held[one.name]}, {elements}{option or ', dtype=int32'})"
    elif one.is_const and dtype.startswith("int"):
        made = f"randint(0, {_HELD}, {elements}{option})"  # which may be places in another one
    elif dtype == "uint8" or dtype == "bool":
        made = f"randint(0, {2 if dtype == 'bool' else 256}, {elements}{option})"
    elif dtype.startswith("int"):
        least, end = (0, _HELD) if UNSIGNED.match(kind) else (-8, 8)
        made = f"randint({least}, {end}, {elements}{option})"
    else:
        made = f"randn({elements}{option})"
    if "atomic" in kinds:
        return f"inout(zeros({elements}{option}))"
    return made if only_read else f"inout({made})"


def _elements(plan: _Plan, name: str, sizes: Mapping[str, int]) -> str:
    """The number of elements as a product of sizes where it is one, such as "M*K"; the largest that any access needs."""
    whole = _extent(plan, name, sizes)
    if whole is None:
        lower = {size.lower(): size for size in plan.sizes}
        two = next((two for pattern, two in _OF_PRODUCT if re.fullmatch(pattern, name, re.IGNORECASE)), "")
        told = [lower[one] for one in two] if two and {"m", "n", "k"} <= lower.keys() else plan.sizes
        return "*".join(told) or str(NO_SIZE)
    return as_written(whole, _order(plan))


def _extent(plan: _Plan, name: str, sizes: Mapping[str, int]) -> Polynomial | None:
    """The number of elements of an array that the largest of its accesses needs, as far as it is known."""
    worth = ((one.at(sizes).number, one) for one in plan.elements.get(name, ()))
    numbers = [(number, one) for number, one in worth if number is not None and number > 0]
    return max(numbers, key=lambda pair: pair[0])[1] if numbers else None


def _order(plan: _Plan) -> list[str]:
    return [parameter.name for parameter in plan.entry.parameters]
