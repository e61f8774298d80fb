"""An autotuner without a key, or with one that names no parameter."""

import ast
import difflib
from collections.abc import Iterator

from kernelwright.source.calls import argument
from kernelwright.source.findings.rule import Change, Problem, Rule, Severity
from kernelwright.source.findings.triton import OPTIONS, TritonUnit
from kernelwright.source.trees import walk
from kernelwright.source.triton.reader import is_absent
from kernelwright.values import Language


def check(unit: TritonUnit) -> Iterator[Problem]:
    call = unit.autotune
    if call is None or any(k.arg is None for k in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args):
        return
    key = argument(call, 1, "key")
    if key is None:
        yield _missing(unit, call)
    elif isinstance(key, ast.List | ast.Tuple):
        yield from _wrong(unit, key.elts)
        if not key.elts and _sizes(unit):
            yield Problem(
                key,
                "With an empty key the configuration that was best for the first size is used for all sizes: "
                "name the size parameters.",
                0,
                *_listed(key, _sizes(unit)),
            )
    if not is_absent(argument(call, 2, "prune_configs_by")):
        return  # which may give configurations other values
    for config in unit.configs or ():
        yield from _unknown_values(unit, config.node)


def _missing(unit: TritonUnit, call: ast.Call) -> Problem:
    message = "triton.autotune needs a key: the parameters whose change asks for tuning again, as a list of names."
    sizes = _sizes(unit)
    if not sizes or not (call.args or call.keywords):
        return Problem(call, message)
    last = call.keywords[-1].value if call.keywords else call.args[-1]
    return Problem(call, message, 0, "Add the key", (Change(last, f", key={_names(sizes)}", after=True),))


def _listed(key: ast.expr, sizes: tuple[str, ...]) -> tuple[str, tuple[Change, ...]]:
    return "Name the size parameters", (Change(key, _names(sizes)),)


def _names(sizes: tuple[str, ...]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in sizes) + "]"


def _wrong(unit: TritonUnit, elements: list[ast.expr]) -> Iterator[Problem]:
    parameters = unit.scope.parameters
    for element in elements:
        if not (isinstance(element, ast.Constant) and isinstance(element.value, str)) or element.value in parameters:
            continue
        message = f"The key names {element.value}, which is no parameter of {unit.function.name}."
        near = difflib.get_close_matches(element.value, parameters, 1) or [
            p for p in parameters if p.lower() == element.value.lower()
        ]
        changes = (Change(element, f'"{near[0]}"'),) if near else ()
        yield Problem(element, message, 0, f"Use {near[0]}" if near else "", changes)


def _unknown_values(unit: TritonUnit, config: ast.Call) -> Iterator[Problem]:
    values = argument(config, 0, "kwargs")
    known = (*unit.scope.parameters, *OPTIONS)
    for key in values.keys if isinstance(values, ast.Dict) else ():
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value not in known:
            near = difflib.get_close_matches(key.value, tuple(unit.constexprs), 1)
            changes = (Change(key, f'"{near[0]}"'),) if near else ()
            message = f"This configuration sets {key.value}, which is no parameter of {unit.function.name}."
            yield Problem(key, message, 0, f"Use {near[0]}" if near else "", changes)


def _sizes(unit: TritonUnit) -> tuple[str, ...]:
    """Runtime parameters that masks and loop bounds compare with, in order of the signature."""
    compared = {
        name.id
        for node in unit.nodes
        if isinstance(node, ast.Compare)
        or (isinstance(node, ast.Call) and ast.unparse(node.func) in ("range", "tl.cdiv", "tl.range"))
        for name in walk(node)
        if isinstance(name, ast.Name)
    }
    return tuple(p for p in unit.scope.parameters if p in compared and p not in unit.constexprs)


RULE = Rule(
    code="triton.autotune-key",
    language=Language.TRITON,
    severity=Severity.WARNING,
    title="Autotuner without a key, or with a wrong one",
    doc="""`triton.autotune` measures its configurations again whenever a parameter named in `key` has a new value. Without
a key it cannot be built; with a name that is no parameter it fails at the first launch or never tunes again.
The key is the list of the size parameters.""",
    example_wrong="""
import triton, triton.language as tl

@triton.autotune(configs=[triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 1024})], key=["size"])
@triton.jit
def zero(y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 0.0, mask=offs < n)
""",
    example_right="""
import triton, triton.language as tl

@triton.autotune(configs=[triton.Config({"BLOCK": 256}), triton.Config({"BLOCK": 1024})], key=["n"])
@triton.jit
def zero(y_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + offs, 0.0, mask=offs < n)
""",
    check=check,
)
