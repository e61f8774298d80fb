"""What a Triton kernel does with its pointers, as far as a workload line has to know: reads, writes, follows as an index."""

import ast
import builtins
from collections.abc import Callable, Sequence

from kernelwright.source.bindings import bindings
from kernelwright.source.trees import walk

_STORES = ("store", "atomic_add", "atomic_max", "atomic_min", "atomic_cas", "atomic_xchg")
_DEPTH = 3  # device functions that call one another


def uses_of_pointers(
    kernel: ast.AST,
    pointers: frozenset[str],
    device: Callable[[str], ast.FunctionDef | ast.AsyncFunctionDef | None] = lambda name: None,
    depth: int = 0,
) -> dict[str, set[str]]:
    """What a Triton kernel does with these parameters, as words.

    "load" and "store", "index" where what it loads leads to what it reads, "place" to what it writes, "bits" where that is
    shifted or masked by a number, "bytes" where products of it are whole numbers, "passed" where it goes to a function that is
    not known. `device`: the functions of the file.
    """
    found: dict[str, set[str]] = {name: set() for name in pointers}
    based: dict[str, set[str]] = {name: {name} for name in pointers}
    loaded: dict[str, set[str]] = {}
    nodes = list(walk(kernel))

    def bases(tree: ast.AST) -> set[str]:
        """The pointers that an address begins with: what is added to one, or multiplied, is a number."""
        open_ = [tree]
        while open_:
            match open_.pop():
                case ast.Name(id=name) if based.get(name):
                    return based[name]
                case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                    open_ += (right, left)
                case ast.Call(func=ast.Attribute(attr="where"), args=[_, one, other]):
                    return bases(one) | bases(other)
                case ast.Call(func=ast.Attribute(value=inner), args=args, keywords=keywords):
                    open_ += [*(k.value for k in keywords if k.arg == "base"), *args[:1], inner]
                case ast.IfExp(body=body, orelse=orelse):
                    open_ += (orelse, body)
        return set()

    def contents(tree: ast.AST) -> set[str]:
        inner = [bases(n.args[0]) for n in walk(tree) if _of_tl(n, ("load",)) and isinstance(n, ast.Call) and n.args]
        return set().union(*inner, *(loaded.get(name, set()) for name in names_in(tree)))

    for _ in range(2):  # what a loop carries
        for node in nodes:
            match node:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=value)
                    | ast.AugAssign(target=ast.Name(id=name), value=value)
                ):
                    loaded[name] = loaded.get(name, set()) | contents(value)
                    if not any(_of_tl(inner, ("load",)) for inner in walk(value)):
                        based[name] = based.get(name, set()) | bases(value)
    for operand in _whole_operands(nodes):
        for name in contents(operand):
            found[name].add("bytes")
    for node in nodes:
        match node:
            case (
                ast.BinOp(left=left, op=ast.LShift() | ast.RShift())
                | ast.BinOp(left=left, op=ast.BitAnd(), right=ast.Constant())
            ) if not isinstance(left, ast.Compare):
                for name in contents(left):
                    found[name].add("bits")
        if not isinstance(node, ast.Call) or not node.args:
            continue
        if _of_tl(node, ("load", *_STORES)):
            address = node.args[0]
            for name in bases(address):
                found[name].add("load" if _of_tl(node, ("load",)) else "store")
                if not _of_tl(node, ("load", "store")):
                    found[name].add("load")
            for name in contents(address) - bases(address):
                found[name].add("index" if _of_tl(node, ("load",)) else "place")
        elif isinstance(node.func, ast.Name) and (called := device(node.func.id)) is not None and depth < _DEPTH:
            formal = dict(zip([one.arg for one in called.args.args], node.args, strict=False))
            formal |= {k.arg: k.value for k in node.keywords if k.arg}
            given = {name: bases(value) for name, value in formal.items()}
            inner = uses_of_pointers(called, frozenset(name for name in given if given[name]), device, depth + 1)
            for formal_name, use in inner.items():
                for name in given[formal_name]:
                    found[name] |= use
        elif (isinstance(node.func, ast.Name) and node.func.id == "range") or _of_tl(node, ("range",)):
            for name in set().union(*map(contents, node.args)):
                found[name].add("index")
        elif isinstance(node.func, ast.Name) and not hasattr(builtins, node.func.id):
            for name in set().union(*(bases(one) for one in (*node.args, *(k.value for k in node.keywords)))):
                found[name].add("passed")
    return found


def _whole_operands(nodes: Sequence[ast.AST]) -> list[ast.expr]:
    """What matrix products with int32 results are of."""
    given = list(bindings(nodes))
    made = (one for one in given if _of_tl(one.value, ("zeros", "full")))
    whole = {one.name for one in made if any(map(_is_int32, walk(one.value)))}
    found: list[ast.expr] = []
    for one in given:
        for product in (part for part in walk(one.value) if isinstance(part, ast.Call) and _of_tl(part, ("dot",))):
            if one.name in whole or any(k.arg == "out_dtype" and _is_int32(k.value) for k in product.keywords):
                found += product.args[:2]
    return found


def _is_int32(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr == "int32"


def _of_tl(node: ast.AST, names: Sequence[str]) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in names
        and isinstance(node.func.value, ast.Name)
    )


def names_in(node: ast.AST) -> set[str]:
    return {n.id for n in walk(node) if isinstance(n, ast.Name)}
