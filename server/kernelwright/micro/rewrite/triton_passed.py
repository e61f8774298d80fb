"""What a Triton launch passes to its kernel by name, as far as the text tells."""

import ast
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from kernelwright.source.bindings import bindings_of
from kernelwright.source.calls import defaults, parameters
from kernelwright.source.trees import walk


@dataclass(frozen=True)
class Passed:
    """What a launch passes: by name, that too which stands in a dictionary; and what of it cannot be told."""

    named: Mapping[str, ast.expr]
    listed: frozenset[str]  # the names that stand in a dictionary
    tail: Mapping[str, ast.expr]  # parameters that are passed by position behind all that is passed by *
    behind_star: Mapping[str, str]  # other parameters that may be among what is passed by *, and words for why
    unread: str  # words for what ** passes, where that is not written out here
    settings: Mapping[str, ast.Call]  # the dictionaries that a call makes and this function only reads, with that call
    unpacked: ast.Call | None  # that which makes what ** passes, where it is one of those and nothing else is passed so


def passed_by(definition: ast.FunctionDef, function: ast.FunctionDef, call: ast.Call) -> Passed:
    """Reads the arguments of the launch `call` of the kernel `definition`, in the function around it."""
    named = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    listed: dict[str, ast.expr] = {}
    unread = ""
    for keyword in call.keywords:
        if keyword.arg is None:
            entries = _entries(function, keyword.value)
            if entries is None:
                unread = unread or f"may be in **{ast.unparse(keyword.value)} (line {keyword.value.lineno})"
            listed.update(entries or {})
    settings = _settings(function)
    starred = [keyword.value for keyword in call.keywords if keyword.arg is None]
    unpacked = settings.get(starred[0].id) if len(starred) == 1 and isinstance(starred[0], ast.Name) else None
    stars = [(index, arg) for index, arg in enumerate(call.args) if isinstance(arg, ast.Starred)]
    positional = (*definition.args.posonlyargs, *definition.args.args)
    behind = {p.arg: f"may be behind * (line {star.lineno})" for index, star in stars[:1] for p in positional[index:]}
    tail = tail_of(definition, call)
    behind = {name: words for name, words in behind.items() if name not in tail}
    return Passed({**listed, **named}, frozenset(listed), tail, behind, unread, settings, unpacked)


def misfit(definition: ast.FunctionDef, call: ast.Call) -> str:
    """Why no call can bind these arguments, as in a file that is being typed; empty where one can."""
    names = [p.arg for p in parameters(definition)]
    given = sum(not isinstance(argument, ast.Starred) for argument in call.args)
    if given > len(names):
        return f"The launch passes {given} arguments, and the kernel takes {len(names)}: make them agree first."
    plain = next((i for i, arg in enumerate(call.args) if isinstance(arg, ast.Starred)), len(call.args))
    twice = set(names[:plain]).intersection(keyword.arg for keyword in call.keywords)
    return f"The launch passes {min(twice)} by position and by name: pass it once." if twice else ""


def tail_of(definition: ast.FunctionDef, call: ast.Call) -> Mapping[str, ast.expr]:
    """What a launch passes by position behind its last *, where it has to pass every parameter: those are the last ones."""
    stars = [index for index, arg in enumerate(call.args) if isinstance(arg, ast.Starred)]
    by_name = {keyword.arg for keyword in call.keywords}
    left = [p.arg for p in (*definition.args.posonlyargs, *definition.args.args) if p.arg not in by_name]
    optional = any(name in left for name, _ in defaults(definition))
    if not stars or None in by_name or optional or len(definition.decorator_list) != 1:  # others may give some of them
        return {}
    tail = call.args[stars[-1] + 1 :]
    return dict(zip(left[len(left) - len(tail) :], tail, strict=True)) if tail else {}


def holder(value: ast.expr | None) -> str:
    """The name of what a value is looked up in: `config["BLOCK"]`, `config.get("BLOCK", 64)`; "" for any other value."""
    match value:
        case (
            ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str()), ctx=ast.Load())
            | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="get"), args=[ast.Constant(value=str()), *_])
        ):
            return name
    return ""


def is_read(value: ast.expr) -> bool:
    """Whether it is looked up by name: `config["BLOCK"]`, `config.get("BLOCK")`, `self.block`."""
    match value:
        case ast.Attribute() | ast.Call(func=ast.Attribute(attr="get")):
            return True
        case ast.Subscript(slice=ast.Constant(value=str())):
            return True
    return False


def _settings(function: ast.FunctionDef) -> Mapping[str, ast.Call]:
    """The names of dictionaries that a call makes and of which the function only looks up entries, or passes them by **.

    Whoever makes them makes them for this function then: no caller sets them, and nothing else sees them.
    """
    nodes = walk(function)
    given = bindings_of(function)
    made = {
        one.name: one.value
        for one in given
        if isinstance(one.node, ast.Assign) and one.value is one.node.value
        if isinstance(one.value, ast.Call) and not is_read(one.value)
    }
    looked_up = Counter(holder(node) for node in nodes if isinstance(node, ast.Subscript | ast.Call))
    passed = Counter(
        keyword.value.id
        for node in nodes
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg is None and isinstance(keyword.value, ast.Name)
    )
    reads = Counter(node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load))
    times = Counter(one.name for one in given)
    own = {p.arg for p in parameters(function)}
    return {
        name: call
        for name, call in made.items()
        if times[name] == 1 and passed[name] < 2 and reads[name] == looked_up[name] + passed[name] and name not in own
        if isinstance(call, ast.Call)
    }


def _entries(function: ast.FunctionDef, mapping: ast.expr) -> dict[str, ast.expr] | None:
    """The entries of a dictionary that is written out and never changed; None for any other."""
    if isinstance(mapping, ast.Name):
        values = [one.value for one in bindings_of(function) if one.name == mapping.id]
        reads = [node for node in walk(function) if isinstance(node, ast.Name) and node.id == mapping.id]
        items = [
            node.value for node in walk(function)
            if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name)
        ]  # fmt: skip
        unpacked = sum(
            keyword.arg is None and keyword.value in reads
            for node in walk(function)
            if isinstance(node, ast.Call)
            for keyword in node.keywords
        )
        changed = [
            node for node in reads if isinstance(node.ctx, ast.Load) and node is not mapping and node not in items
        ]
        if len(values) != 1 or unpacked != 1 or changed:
            return None
        mapping = values[0]
    return written_out(mapping)


def written_out(mapping: ast.expr) -> dict[str, ast.expr] | None:
    """The entries of `{"a": 1}` or `dict(a=1)`; None for anything else."""
    match mapping:
        case ast.Dict(keys=keys, values=values):
            names = [key.value for key in keys if isinstance(key, ast.Constant) and isinstance(key.value, str)]
            return dict(zip(names, values, strict=True)) if len(names) == len(values) else None
        case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords) if all(k.arg for k in keywords):
            return {keyword.arg: keyword.value for keyword in keywords if keyword.arg is not None}
    return None
