"""A first workload line for a kernel that has none, guessed from the signature and the body of what launches it."""

import ast
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from kernelwright.ops import row
from kernelwright.source.trees import walk
from kernelwright.source.workload.evaluate import WorkloadError, evaluate
from kernelwright.source.workload.signature import Parameters, signature_of
from kernelwright.values import Kernel, Refusal

_BY_RANK = {0: (), 1: (1 << 20,), 2: (4096, 1024), 3: (8, 512, 1024), 4: (8, 16, 512, 64), 5: (2, 8, 16, 64, 64)}
_SIZE = re.compile(r"(?:[nmkbhdcst]|n_\w+|num_\w+|\w*(?:size|dim|dims|len|length|features|channels|block)\w*)$", re.I)
_FLAG = re.compile(r"(?:is_|use_|has_|with_|return_)\w+|causal|training|inplace|bias$|affine$")
_FRACTION = re.compile(r"(?:p|dropout\w*|scale|sm_scale|alpha|beta_?|momentum|slope|\w*_scale|temperature)$")
_INDEX = re.compile(r"(?:\w*(?:idx|index|indices|ids|labels?|targets?|tokens?))$")
_CLASS = re.compile(r"(?:labels?|targets?)$")  # one number for each row
_VECTOR = re.compile(r"(?:w|b|weight|bias|gamma|beta|scale|shift|\w+_(?:weight|bias))$")
_LAST_DIMENSION = re.compile(
    r"(?:dim|d_model|d|hidden\w*|n_embd|embed\w*|in_features|input_size|normalized_shape|features|size)$"
)
_KNOWN_SIZES = (
    (re.compile(r".*heads?$"), 16),
    (re.compile(r".*(?:kernel_size)$"), 3),
    (re.compile(r".*(?:stride|dilation)$"), 1),
    (re.compile(r".*padding$"), 1),
    (re.compile(r".*groups$"), 8),
    (re.compile(r".*channels$"), 64),
    (re.compile(r".*(?:vocab\w*|num_embeddings)$"), 32768),
    (re.compile(r"(?:b|batch\w*)$"), 16),
    (re.compile(r".*(?:layers|depth)$"), 2),
)
_OF_TENSORS = frozenset(
    (
        "shape",
        "stride",
        "size",
        "numel",
        "dtype",
        "device",
        "contiguous",
        "is_contiguous",
        "is_cuda",
        "ndim",
        "dim",
        "T",
    )
)


def suggest_line(text: str, kernel: Kernel | str) -> str | Refusal:
    """The line `# workload: entry(…)` for a kernel or an entry's name: a guess for a person to correct.

    Sizes are those of a kernel worth timing; names of sizes that several tensors share are kept equal.
    """
    entry = kernel if isinstance(kernel, str) else kernel.entry
    if entry is None:
        return Refusal("No function of this file launches this kernel, so there is nothing that a workload could call.")
    signature = signature_of(text, entry)
    if signature is None:
        return Refusal(f"The parameters of {entry} cannot be read from its source; write its workload line by hand.")
    if signature.is_triton:
        return Refusal(f"{entry} is a Triton kernel: add a function that launches it, then a workload line for that.")
    if signature.call is None:
        return Refusal(f"{entry} has no forward method of its own; write its workload line by hand.")
    construction, last = "", None
    if signature.is_class:
        given, last = _constructor(signature.init)
        construction = f"({', '.join(given)})" if signature.init is not None else "()"
    call = f"{entry}{construction}({', '.join(_arguments(signature.call, last))})"
    try:
        evaluate(call)
    except WorkloadError as error:
        return Refusal(f"No workload line could be written for {entry}: {error.message}")
    return f"# workload: {call}"


@dataclass
class _Tensor:
    """What the body says of a tensor parameter: the names of its sizes, or at least how many it has."""

    dims: list[str | None] = field(default_factory=list)
    rank: int = 0
    evidence: bool = False
    product: bool = False  # takes part in a matrix product


def _constructor(init: Parameters | None) -> tuple[list[str], int | None]:
    """Arguments for the required parameters, and the size of the last dimension that they speak of."""
    given, last = [], None
    for parameter, default in init.all() if init else ():
        if default is not None:
            continue
        value = _scalar(parameter)
        if value is None:
            value = _known_size(parameter.arg)
        if last is None and _LAST_DIMENSION.match(parameter.arg) and value.isdigit():
            last = int(value)
        given.append(f"{parameter.arg}={value}" if init and parameter in init.tree.args.kwonlyargs else value)
    return given, last


def _known_size(name: str) -> str:
    return str(next((size for pattern, size in _KNOWN_SIZES if pattern.match(name)), 1024))


def _arguments(parameters: Parameters, last: int | None) -> list[str]:
    tensors = _tensors(parameters)
    is_product = sum(t.product for t in tensors.values()) >= 2
    sizes: dict[str, int] = {}
    first: tuple[int, ...] | None = None
    given: list[str] = []
    for parameter, default in parameters.all():
        name = parameter.arg
        if name not in tensors:
            if default is None:
                value = str(sizes[name]) if name in sizes else _scalar(parameter) or _known_size(name)
                keyword = parameter in parameters.tree.args.kwonlyargs
                given.append(f"{name}={value}" if keyword else value)
            continue
        if default is not None:
            continue
        shape = _shape(name, tensors[name], sizes, first, last, is_product)
        first = first or shape
        written = ", ".join(map(str, shape))
        generator = f"randint(0, {first[-1] if first else 2}, {written})" if _INDEX.match(name) else f"randn({written})"
        given.append(f"{name}={generator}" if parameter in parameters.tree.args.kwonlyargs else generator)
    return given


def _shape(
    name: str, tensor: _Tensor, sizes: dict[str, int], first: tuple[int, ...] | None, last: int | None, product: bool
) -> tuple[int, ...]:
    if not tensor.dims and tensor.rank == 0:
        if _VECTOR.match(name) and first:
            return (first[-1], first[-1]) if tensor.product else first[-1:]
        if _CLASS.match(name) and first:
            return first[:-1]
        if first:
            return (first[-1], first[-1]) if tensor.product and len(first) == 2 else first
    rank = len(tensor.dims) or tensor.rank or 2
    usual = _BY_RANK.get(rank, (4,) * rank)
    if product and rank == 2:
        usual = (1024, 1024)
    dims = tensor.dims or [None] * rank
    shape = []
    for axis, dim in enumerate(dims):
        size = usual[axis]
        if dim is None and first and product and axis == rank - 2:
            size = first[-1]
        if last is not None and axis == rank - 1 and dim not in sizes:
            size = last
        shape.append(sizes.setdefault(dim, size) if dim else size)
    return tuple(shape)


def _scalar(parameter: ast.arg) -> str | None:
    """A value for a parameter that is no tensor, as far as its annotation or name tells; None for a plain size."""
    annotation = ast.unparse(parameter.annotation) if parameter.annotation else ""
    name = parameter.arg
    if annotation.startswith("bool") or (not annotation and _FLAG.match(name)):
        return "False"
    if "eps" in name:
        return "1e-06"
    if annotation.startswith("float") or (not annotation and _FRACTION.match(name)):
        return "0.5"
    if annotation.startswith("str"):
        return "''"
    if "None" in annotation and "int" not in annotation:
        return "None"
    return None


def _tensors(parameters: Parameters) -> dict[str, _Tensor]:
    """The parameters that are tensors, in order."""
    found = {parameter.arg: _Tensor() for parameter, _ in parameters.all()}
    for node in walk(parameters.tree):
        _read(node, found)
    kept: dict[str, _Tensor] = {}
    for parameter, default in parameters.all():
        name, tensor = parameter.arg, found[parameter.arg]
        annotation = ast.unparse(parameter.annotation) if parameter.annotation else ""
        if "Tensor" in annotation or (not annotation and (tensor.evidence or _looks_like_a_tensor(name, default))):
            kept[name] = tensor
    return kept


def _looks_like_a_tensor(name: str, default: ast.expr | None) -> bool:
    if default is not None or "eps" in name or _FLAG.match(name) or _FRACTION.match(name):
        return False
    return name in ("b", "k") or not _SIZE.match(name)


def _read(node: ast.AST, found: dict[str, _Tensor]) -> None:
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=value) if (name := _shape_of(value)) in found:
            tensor = found[name]
            dims = [t.id if isinstance(t, ast.Name) and t.id != "_" else None for t in targets]
            if not any(isinstance(t, ast.Starred) for t in targets):
                tensor.dims = tensor.dims or dims
        case ast.Assign(targets=targets, value=ast.Tuple(elts=values)):
            for target, value in zip(_elements(targets), values, strict=False):
                _read(ast.Assign(targets=[target], value=value), found)
        case ast.Subscript(value=ast.Attribute(value=ast.Name(id=name), attr="shape"), slice=axis) if name in found:
            found[name].rank = max(found[name].rank, _rank(axis))
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="size" | "stride"), args=[axis]) if (
            name in found
        ):
            found[name].rank = max(found[name].rank, _rank(axis))
        case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name in found and attribute in _OF_TENSORS:
            found[name].evidence = True
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            _multiplied(found, left, right)
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch" | "F"), attr=operation), args=args):
            for argument in args:
                for name in _names(argument) & found.keys():
                    found[name].evidence = True
            _multiplied(found, *(args[place] for place in row(operation).matrices if place < len(args)))
    products = [t for t in found.values() if len(t.dims) == 2]
    for tensor in products[:2] if len(products) >= 2 and products[0].dims != products[1].dims else ():
        tensor.product = True


def _elements(targets: list[ast.expr]) -> Iterator[ast.expr]:
    for target in targets:
        yield from target.elts if isinstance(target, ast.Tuple) else (target,)


def _shape_of(value: ast.expr) -> str:
    match value:
        case ast.Attribute(value=ast.Name(id=name), attr="shape"):
            return name
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="size"), args=[]):
            return name
    return ""


def _multiplied(found: dict[str, _Tensor], *operands: ast.expr) -> None:
    for operand in operands:
        for name in _names(operand) & found.keys():
            found[name].product = found[name].evidence = True


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in walk(node) if isinstance(n, ast.Name)}


def _rank(axis: ast.expr) -> int:
    try:
        value = ast.literal_eval(axis)
    except (ValueError, TypeError, SyntaxError):
        return 0
    if not isinstance(value, int) or math.fabs(value) > 6:
        return 0
    return value + 1 if value >= 0 else max(-value, 2)
