"""The grid and block of a launch: where their numbers are written, and over how many elements the grid is rounded up."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from dataclasses import field as field_of

from tree_sitter import Node

from kernelwright.source.cuda import File, Launch
from kernelwright.source.cuda.expressions import Names
from kernelwright.source.cuda.text import field, of_type, walk
from kernelwright.source.polynomials import Polynomial, number

AXES = ("x", "y", "z")
_DIMS = ("dim3", "uint3")
_DECLARES = ("init_declarator", "function_declarator")  # `dim3 block(THREADS)` reads as a function
_NAMED = ("identifier", "type_identifier")
_ROUNDED = (
    re.compile(r"(?P<n>\w+)\+(?P<d>\w+)-1/(?P=d)"),
    re.compile(r"(?P<n>\w+)-1/(?P<d>\w+)\+1"),
    re.compile(r"(?P<d>\w+)-1\+(?P<n>\w+)/(?P=d)"),
    re.compile(r"(?P<n>\w+)/(?P<d>\w+)\+(?P=n)%(?P<e>\w+)(?:!=0|>0|\?1:0)"),
)
"""Bodies of helpers that divide and round up, without blanks and parentheses."""
_ROUNDING = re.compile(
    r"[iu]?_?(?:ceil_?div(?:ide)?|c_?div|div_?up|divide_?up|div_?(?:and_?)?round_?up|div_?ceil)", re.I
)
"""Names of such helpers, for those that a header defines."""
_NOISE = re.compile(r"[\s()]|\breturn\b|;|static_cast<[\w ]+>|\(\w+\)(?=\()")


@dataclass(frozen=True, eq=False)
class Division:
    """`elements` divided by the block and rounded up, as `node` says it; `counted`: the expression of the elements.

    `dividend`: what is divided where one is added afterwards, as in `(n - 1) / 256 + 1`.
    """

    node: Node
    counted: Node
    elements: Polynomial
    dividend: Node | None = None
    divisor: Node | None = None  # of `n / 256 + (n % 256 != 0)`, which names the elements twice

    def fewer(self, content: Callable[[Node], str], times: int) -> tuple[int, int, str]:
        """The change that makes it the blocks for so many times fewer threads."""
        if self.divisor is not None:
            each = f"{times} * {content(self.divisor)}"
            counted = content(self.counted)
            return self.node.start_byte, self.node.end_byte, f"({counted} + {each} - 1) / ({each})"
        if self.dividend is not None:
            return self.dividend.end_byte, self.dividend.end_byte, f" / {times}"
        counted = content(self.counted)
        return self.counted.start_byte, self.counted.end_byte, f"({counted} + {times - 1}) / {times}"


@dataclass(frozen=True, eq=False)
class Geometry:
    """A launch with what its configuration comes to.

    `block`: threads in each of three dimensions. `numbers`: the nodes that say so, None for a dimension that is not given,
    or in the launching function's parameters, of which `known` has those. `grid`: the expression of the blocks in each
    dimension, behind the names of locals. `definitions`: the values of the names on the way, by name.
    """

    launch: Launch
    names: Names
    block: tuple[int, int, int]
    numbers: tuple[Node | None, Node | None, Node | None]
    grid: tuple[Node | None, Node | None, Node | None]
    definitions: dict[str, Node]
    known: Mapping[str, int] = field_of(default_factory=dict)

    def division(self, axis: str) -> Division | None:
        """The grid of an axis as a division that is rounded up; None where it is anything else."""
        node = self.grid[AXES.index(axis)]
        return _division(self, node, self.block[AXES.index(axis)]) if node is not None else None

    def polynomial(self, node: Node) -> Polynomial:
        """An expression of the launching function, with `block.x` as its number."""
        fields = {
            f"{name}.{axis}": size
            for name, value in self.definitions.items()
            if _listed(self.names.file, value) is not None
            for axis, size in zip(AXES, self.block, strict=True)
        }
        found = self.names.polynomial(node).at(self.known)
        block = self.launch.block
        if block is None or block.type != "identifier":
            return found
        own = {key: size for key, size in fields.items() if key.startswith(self.names.file.source.content(block) + ".")}
        return found.at(own)


def geometry(file: File, launch: Launch, given: Mapping[str, int] | None = None) -> Geometry | None:
    """What the configuration of a launch says; None where the threads of a block are no known numbers.

    `given`: what parameters of the launching function are, for changes that are right for any other block, too.
    """
    names, definitions = Names(file, launch.function), dict[str, Node]()
    if launch.block is None or launch.grid is None:
        return None
    blocks = _components(file, names, launch.block, definitions)
    sizes, numbers = [1, 1, 1], list[Node | None]([None, None, None])
    known = dict[str, int]()
    for place, node in enumerate(blocks):
        found = _written(file, names, node, definitions)
        value = file.number(_uncommented(file, found)) if found is not None else None
        if value is None and given:
            asked = names.polynomial(node)
            value, known = asked.at(given).number, known | {name: given[name] for name in asked.names if name in given}
        if value is None or value < 1:
            return None
        sizes[place], numbers[place] = value, found
    grid = list[Node | None]([None, None, None])
    for place, node in enumerate(_components(file, names, launch.grid, definitions)):
        grid[place] = _followed(names, node, definitions)
    return Geometry(
        launch,
        names,
        (sizes[0], sizes[1], sizes[2]),
        (numbers[0], numbers[1], numbers[2]),
        (grid[0], grid[1], grid[2]),
        definitions,
        known,
    )


def _components(file: File, names: Names, node: Node, definitions: dict[str, Node]) -> tuple[Node, ...]:
    """The expressions of a `dim3`, through the name of a local, or the one expression of a number."""
    inner = node
    if node.type == "identifier":
        name = file.source.content(node)
        declared = [
            one for one in of_type(names.function.body, *_DECLARES) if _names(file, field(one, "declarator"), name)
        ]
        declaration = declared[0].parent if len(declared) == 1 and names.assigned.get(name, 0) <= 1 else None
        kind = field(declaration, "type")
        if kind is not None and file.source.content(kind) in (*_DIMS, "auto"):
            definitions[name] = inner = field(declared[0], "value") or field(declared[0], "parameters") or node
    listed = _listed(file, inner)
    return tuple(one for one in listed.named_children if one.type != "comment")[:3] if listed is not None else (inner,)


def _listed(file: File, node: Node) -> Node | None:
    """The arguments of `dim3(…)`, of `dim3 block(…)` and of `dim3 block{…}`."""
    if node.type in ("argument_list", "initializer_list", "parameter_list"):
        return node
    callee = field(node, "function") if node.type == "call_expression" else None
    return field(node, "arguments") if callee is not None and file.source.content(callee) in _DIMS else None


def _followed(names: Names, node: Node, definitions: dict[str, Node]) -> Node:
    """The expression behind parentheses, casts and names of locals that are assigned once."""
    while True:
        node = bare(node)
        name = names.file.source.content(node) if node.type in _NAMED else ""
        if name not in names.values or name in definitions:
            return definitions.get(name, node)
        definitions[name] = node = names.values[name]


def bare(node: Node) -> Node:
    """Without parentheses and casts; of a size that reads as a parameter, its name."""
    while node.type in ("parenthesized_expression", "cast_expression", "parameter_declaration"):
        inner = field(node, "value") if node.type == "cast_expression" else next(iter(node.named_children), None)
        if inner is None:
            return node
        node = inner
    return node


def _written(file: File, names: Names, node: Node, definitions: dict[str, Node]) -> Node | None:
    """Where the number that an expression stands for is written."""
    found = _followed(names, node, definitions)
    if found.type == "number_literal":
        return found
    name = file.source.content(found)
    value = constant(file, name) if found.type in _NAMED else None
    if value is None:
        return None
    definitions[name] = value
    return value if re.fullmatch(r"\d+[uU]?", _uncommented(file, value)) else None


def _uncommented(file: File, value: Node) -> str:
    """The value of a macro reaches to the end of its line, comment and all."""
    return re.split(r"//|/\*", file.source.content(value))[0].strip()


def constant(file: File, name: str) -> Node | None:
    """The value of a macro, or of a constant at top level, where it is written."""
    if name not in file.constants:
        return None
    for node in walk(file.source.tree.root_node, lambda one: one.type not in ("function_definition", "preproc_def")):
        if node.type == "preproc_def" and _names(file, field(node, "name"), name):
            return field(node, "value")
        if node.type == "init_declarator" and _names(file, field(node, "declarator"), name):
            return field(node, "value")
    return None


def _names(file: File, node: Node | None, name: str) -> bool:
    return node is not None and file.source.content(node) == name


def _division(found: Geometry, node: Node, size: int) -> Division | None:
    file, one = found.names.file, number(1)
    content, node = file.source.content, bare(node)
    if node.type == "call_expression":
        return _helped(found, node, size)
    operator, left, right = field(node, "operator"), field(node, "left"), field(node, "right")
    if operator is None or left is None or right is None:
        return None
    if content(operator) == "/" and found.polynomial(right).number == size:
        elements = found.polynomial(bare(left)) - number(size) + one
        counted = next((each for each in walk(left) if found.polynomial(each) == elements), None)
        return Division(node, counted, elements) if counted is not None and elements.names else None
    inner = bare(left)
    divisor, dividend, sign = field(inner, "right"), field(inner, "left"), field(inner, "operator")
    if (
        content(operator) == "+"
        and sign is not None
        and content(sign) == "/"
        and divisor is not None
        and dividend is not None
        and found.polynomial(divisor).number == size
    ):
        return _plus_one(found, node, dividend, right) or _plus_rest(found, node, dividend, divisor, right)
    return None


def _plus_rest(found: Geometry, node: Node, dividend: Node, divisor: Node, right: Node) -> Division | None:
    """`n / block + (n % block != 0)`, however the rest is asked for."""
    written = re.sub(r"\s", "", found.names.file.source.content(bare(right)))
    match = re.fullmatch(r"\(?(?P<n>\w+)%(?P<d>[\w.]+)\)?(?:!=0|>0|\?1:0|!=0\?1:0|>0\?1:0)", written)
    counted, content = bare(dividend), found.names.file.source.content
    same = match is not None and match["n"] == content(counted) and match["d"] == content(bare(divisor))
    elements = found.polynomial(counted)
    return Division(node, counted, elements, divisor=bare(divisor)) if same and elements.names else None


def _plus_one(found: Geometry, node: Node, dividend: Node, right: Node) -> Division | None:
    """`(n - 1) / block + 1`, and `n / block + 1`, which covers n elements, too."""
    if found.polynomial(right).number != 1:
        return None
    inner = bare(dividend)
    operator, left, minus = field(inner, "operator"), field(inner, "left"), field(inner, "right")
    is_less = operator is not None and found.names.file.source.content(operator) == "-" and minus is not None
    if is_less and left is not None and minus is not None and found.polynomial(minus).number == 1:
        return Division(node, left, found.polynomial(left), dividend)
    return Division(node, inner, found.polynomial(inner), dividend) if found.polynomial(inner).names else None


def _helped(found: Geometry, call: Node, size: int) -> Division | None:
    """A call of a helper or macro of the file that divides and rounds up."""
    file, listed = found.names.file, field(call, "arguments")
    given = [one for one in listed.named_children if one.type != "comment"] if listed is not None else []
    callee = field(call, "function")
    name = file.source.content(callee) if callee is not None else ""
    if len(given) != 2 or found.polynomial(given[1]).number != size or not rounds_up(file, name):
        return None
    return Division(call, given[0], found.polynomial(given[0]))


def rounds_up(file: File, name: str) -> bool:
    """Whether a function or macro of the file divides its first argument by its second one and rounds up.

    One that the file does not define is taken at its name, as `ceil_div`: the gate sees what a kernel comes to.
    """
    for node in file.function_macros:
        parameters, value = field(node, "parameters"), field(node, "value")
        if _names(file, field(node, "name"), name) and parameters is not None and value is not None:
            return _rounds([file.source.content(one) for one in parameters.named_children], file.source.content(value))
    function = file.function(name)
    if function is None and name not in file.defines:
        return _ROUNDING.fullmatch(name) is not None
    if function is None or function.body.named_child_count != 1:
        return False
    return _rounds([one.name for one in function.parameters], file.source.content(function.body).strip("{} \n\t"))


def _rounds(parameters: list[str], written: str) -> bool:
    plain = _NOISE.sub("", written.split("//")[0])
    matches = (pattern.fullmatch(plain) for pattern in _ROUNDED)
    return any(match is not None and [match["n"], match["d"]] == parameters for match in matches)
