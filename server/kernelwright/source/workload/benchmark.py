"""Workload lines from what a file already has: a benchmark or test that makes tensors and calls the kernel's launcher."""

import ast
import itertools
import re
from collections.abc import Iterator

from kernelwright.source.trees import children, walk
from kernelwright.source.workload.arguments import UNKNOWN, Names, Tensor, value_of
from kernelwright.source.workload.evaluate import WorkloadError, evaluate
from kernelwright.source.workload.find import code
from kernelwright.source.workload.lines import few_of
from kernelwright.values import Kernel, Refusal

_BEFORE_NAME = re.compile(r"(?:\bdef |\bclass |[\w.])$")  # a definition, the end of a longer name, or an attribute
_MOST_VARIANTS = 64


def from_benchmark(text: str, kernel: Kernel | str) -> tuple[str, ...] | Refusal:
    """Workload lines for an entry from the calls that other functions of the file make, the largest first.

    An attribute, as in `torch.softmax`, is no function of the file. Sizes come from constants, defaults, loops over lists,
    pytest's parametrize and triton.testing.Benchmark.
    """
    entry = kernel if isinstance(kernel, str) else kernel.entry
    if entry is None:
        return Refusal("No function of this file launches this kernel, so nothing can be taken over.")
    nothing = Refusal(f"No benchmark or test of this file calls {entry} with tensors whose sizes can be read.")
    if not _calls(text, entry):
        return nothing  # parsing a long file is what takes the time
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Refusal("The file does not parse, so its benchmarks cannot be read.")
    module = _assigned(tree.body)
    found: dict[str, None] = {}
    for function in _functions(tree):
        if function.name == entry:
            continue
        made = (node for node in walk(function) if isinstance(node, ast.Call))
        calls = [call for call in made if isinstance(call.func, ast.Name) and call.func.id == entry]
        for call, names in itertools.product(calls, _variants(function, module) if calls else ()):
            line = _line(entry, call, names)
            if line is not None:
                found.setdefault(line)
    if not found:
        return nothing
    return tuple(f"# workload: {line}" for line in few_of(found))


def _calls(text: str, entry: str) -> bool:
    """Whether the name stands before a parenthesis anywhere but in its own definition."""
    call = re.compile(rf"{re.escape(entry)}\b\s*\(")  # begins with the name itself: searched as quickly as text

    def stands_in(written: str) -> bool:
        found = call.finditer(written)
        return any(not _BEFORE_NAME.search(written, max(0, m.start() - 8), m.start()) for m in found)

    return stands_in(text) and stands_in(code(text))  # blanking strings and comments costs more than most searches


def _functions(tree: ast.AST) -> Iterator[ast.FunctionDef]:
    """Functions that are not inside another one; a class's methods count."""
    for node in children(tree):
        if isinstance(node, ast.FunctionDef):
            yield node
        elif not isinstance(node, ast.Lambda):
            yield from _functions(node)


def _line(entry: str, call: ast.Call, names: Names) -> str | None:
    written: list[str] = []
    tensors = 0
    arguments = [(None, a) for a in call.args] + [(k.arg, k.value) for k in call.keywords]
    for keyword, argument in arguments:
        value = value_of(argument, names, 0)
        if value is UNKNOWN:
            return None
        tensors += isinstance(value, Tensor)
        shown = value.written() if isinstance(value, Tensor) else repr(value)
        written.append(f"{keyword}={shown}" if keyword else shown)
    line = f"{entry}({', '.join(written)})"
    try:
        evaluate(line)
    except WorkloadError:
        return None
    return line if tensors else None


# What names can stand for


def _variants(function: ast.FunctionDef, module: Names) -> Iterator[Names]:
    """The values of the function's names, once for each set of sizes it is run with."""
    defaults = dict(zip(reversed([a.arg for a in function.args.args]), reversed(function.args.defaults), strict=False))
    fixed = {**module, **defaults, **_assigned(function.body)}
    choices: list[list[Names]] = []
    for decorator in function.decorator_list:
        choices += _decorated(decorator, module)
    for node in walk(function):
        if isinstance(node, ast.For) and (values := _listed(node.iter, fixed)):
            choices.append([chosen for v in values if (chosen := _bind(node.target, v))])
    combinations = itertools.islice(itertools.product(*(c for c in choices if c)), _MOST_VARIANTS)
    for combination in combinations:
        chosen = {name: value for names in combination for name, value in names.items()}
        yield {**fixed, **chosen}


def _assigned(body: list[ast.stmt]) -> dict[str, ast.expr]:
    """Names that a body assigns, also inside its blocks; `a, b = 1, 2` too."""
    found: dict[str, ast.expr] = {}
    for statement in body:
        for node in walk(statement):
            if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda):
                continue
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    found.update(_bind(target, node.value))
    return found


def _bind(target: ast.expr, value: ast.expr) -> dict[str, ast.expr]:
    if isinstance(target, ast.Name):
        # `x = x.contiguous()` would stand for itself.
        return {} if any(isinstance(n, ast.Name) and n.id == target.id for n in walk(value)) else {target.id: value}
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple | ast.List):
        pairs = zip(target.elts, value.elts, strict=False)
        return {name: bound for t, v in pairs for name, bound in _bind(t, v).items()}
    return {}


def _decorated(decorator: ast.expr, module: Names) -> list[list[Names]]:
    if not isinstance(decorator, ast.Call):
        return []
    called = ast.unparse(decorator.func)
    if called.endswith("parametrize") and len(decorator.args) >= 2:
        names = _strings(decorator.args[0])
        values = _listed(decorator.args[1], module)
        target = ast.Tuple([ast.Name(n) for n in names]) if len(names) > 1 else ast.Name(names[0] if names else "_")
        return [[_bind(target, value) for value in values]]
    if called.endswith("perf_report") and decorator.args:
        first = decorator.args[0]
        described = module.get(first.id) if isinstance(first, ast.Name) else first
        items = described.elts if isinstance(described, ast.List) else [described]
        return [choice for item in items if isinstance(item, ast.Call) for choice in _benchmark(item, module)]
    return []


def _benchmark(call: ast.Call, module: Names) -> list[list[Names]]:
    """triton.testing.Benchmark: each of x_vals for all of x_names, and the fixed args."""
    keywords = {k.arg: k.value for k in call.keywords}
    names = _strings(keywords.get("x_names", ast.Tuple([])))
    choices: list[Names] = []
    for value in _listed(keywords.get("x_vals", ast.Tuple([])), module):
        values = value.elts if isinstance(value, ast.Tuple | ast.List) else [value] * len(names)
        choices.append(dict(zip(names, values, strict=False)))
    fixed: dict[str, ast.expr] = {}
    if isinstance(args := keywords.get("args"), ast.Dict):
        for key, value in zip(args.keys, args.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                fixed[key.value] = value
    return [choices, [fixed]]


def _strings(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [part.strip() for part in node.value.split(",")]
    items = node.elts if isinstance(node, ast.Tuple | ast.List) else []
    return [item.value for item in items if isinstance(item, ast.Constant) and isinstance(item.value, str)]


def _listed(node: ast.expr, names: Names) -> list[ast.expr]:
    """The items of a list, a range, or a comprehension over one; [] for anything else."""
    match node:
        case ast.Name(id=name) if name in names:
            return _listed(names[name], {k: v for k, v in names.items() if k != name})
        case ast.List(elts=items) | ast.Tuple(elts=items):
            return list(items)
        case ast.Call(func=ast.Name(id="range"), args=args):
            numbers = [number for a in args if isinstance(number := value_of(a, names, 0), int)]
            if not numbers or len(numbers) < len(args) or (len(numbers) == 3 and not numbers[2]):
                return []
            return [ast.Constant(i) for i in itertools.islice(range(*numbers), 1024)]
        case ast.ListComp(elt=element, generators=[ast.comprehension(target=ast.Name(id=name), iter=source, ifs=[])]):
            values = [value_of(element, {**names, name: item}, 0) for item in _listed(source, names)]
            return [ast.Constant(v) for v in values if isinstance(v, int | float)]
    return []
