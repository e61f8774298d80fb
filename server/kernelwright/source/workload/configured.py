"""Configurations for constructors that read their sizes from one: `Block(BlockConfig(n_embd=1024, n_head=16))(…)`.

Where no class makes one, and for functions that ask a module or a configuration for numbers and flags, it is a namespace.
"""

import ast
import itertools
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kernelwright.source.trees import walk
from kernelwright.source.workload.evaluate import NAMESPACE
from kernelwright.source.workload.find import code, definitions
from kernelwright.source.workload.signature import Parameters, decorators_of, definition

_NAME = re.compile(r"(?:\w+_)?(?:config|cfg|conf|args|hparams|params)$")
_CLASS = re.compile(r"\b[A-Z]\w*(?:Config|Configuration|Args|Arguments|Params|HParams)\b")
_MODULE = re.compile(r"(?:\w+_)?module$")
_OF_ATTRIBUTES = re.compile(
    r"(?:\w+\.)*\w*(?:Module|Config|Configuration|Namespace)(?:\s*\|\s*None)?$"
)  # an annotation
_NOBODYS = frozenset(("Any", "Namespace", NAMESPACE))  # classes that make no configuration of their own
_ANNOTATION = re.compile(r"(?:\w+\.)*([A-Z]\w*)(?:\s*\|\s*None)?$")
_HIDDEN = re.compile(
    r"hidden_size$|(?:d|n|dim)_?(?:model|embd?)$|embed(?:ding)?_(?:dim|size)$|(?:model_)?(?:dim|width)$"
)
_HEADS = re.compile(r"(?:\w+_)?(?:n_?)?heads?(?:_kv|_q)?$")
_OF_A_HEAD = re.compile(r"(?:\w+_)?head_?(?:dim|size)$")
_SIZES = (  # of a module that is worth timing and that a CPU bears, by what models call them
    (_HIDDEN, 1024),
    (re.compile(r"\w*(?:moe|expert)_\w*(?:size|dim)$"), 512),
    (
        re.compile(r"(?:\w+_)?(?:intermediate|ffn?|feed_?forward|mlp|inner)_(?:size|dim|hidden\w*)$|d_ff$|hidden_dim$"),
        4096,
    ),
    (_HEADS, 16),
    (_OF_A_HEAD, 64),
    (re.compile(r"(?:num_(?:\w+_)?|n_)?layers?$|depth$"), 2),
    (re.compile(r"(?:\w+_)?(?:experts_per_tok\w*|top_?k)$"), 2),
    (re.compile(r"(?:\w+_)?experts$"), 8),
    (re.compile(r"(?:padded_)?vocab(?:ulary)?_size$|n_vocab$"), 8192),
)
_DATA = (  # of a namespace, which has no defaults: what leaves numbers as they are
    (re.compile(r"training$|\w*bias$|causal$|(?:is|use|has|with|do|return|scale_attn)_\w+$"), "False"),
    (re.compile(r"\w*(?:dropout|drop|drop_prob|drop_rate|pdrop)$"), "0.0"),
    (re.compile(r"\w*eps(?:ilon)?$"), "1e-06"),
    (re.compile(r"\w*(?:key_value|kv|query)_groups$|n_rep$"), "1"),
    (re.compile(r"(?:\w+_)?(?:scale|scaling)$"), "0.125"),
    (re.compile(r"(?:layer|block)_?(?:idx|id|index)$"), "0"),
    (re.compile(r"(?:\w+_)?(?:act|act_fn|activation|activation_function)$"), "'gelu'"),
    (
        re.compile(r"\w*max_\w*(?:len|length|positions?|embeddings)$|block_size$|context_length$|n_(?:ctx|positions)$"),
        "1024",
    ),
    (re.compile(r"\w*theta$"), "10000.0"),
    (re.compile(r"multiple_of$"), "256"),
)


@dataclass(frozen=True)
class Configuration:
    """A value for a constructor's parameter, as it is written in a line, and the size of the hidden dimension in it."""

    written: str
    hidden: int | None


def configurations(text: str, entry: str, parameter: ast.arg) -> tuple[Configuration, ...]:
    """What may be given to a parameter of a class's constructor: with usual sizes of what is read of it, else as it comes.

    With the hidden dimension come the heads that others in the file divide it among, which configurations look at. It is
    made by the class that the annotation names, or by one of the file, or of its imports, that is called as a configuration
    is, or is a namespace where there is none.
    """
    name = _class(text, entry, parameter)
    is_one = name is not None or _NAME.match(parameter.arg)
    read = _read(text, [entry], parameter.arg) if is_one else frozenset()
    if name is None:
        known = _known(read)
        return (Configuration(_call(NAMESPACE, known), _hidden(known)),) if known else ()
    if not read:
        return ()
    if any(map(_HIDDEN.match, read)):
        others = _read(text, definitions(text), parameter.arg)
        read |= {one for one in others if _HEADS.match(one) or _OF_A_HEAD.match(one)}
    fields = _fields(text, name)
    sizes = {one: size for one in sorted(read) if (size := _size(one)) and (fields is None or one in fields)}
    needed = {one: _size(one) or 1 for one, has_default in (fields or {}).items() if not has_default}
    found = (Configuration(_call(name, needed | sizes), _hidden(sizes)), Configuration(_call(name, needed), None))
    return found if sizes else found[1:]


def namespace(text: str, entry: str, parameter: ast.arg) -> str | None:
    """What may be given to a parameter of which only attributes are read, as it is written: those that names tell."""
    annotation = ast.unparse(parameter.annotation).strip("'\"") if parameter.annotation else ""
    named = _NAME.match(parameter.arg) or _MODULE.match(parameter.arg)
    tree = definition(text, entry)
    if tree is None or not (_OF_ATTRIBUTES.match(annotation) if annotation else named):
        return None
    if any(_is_called(node, parameter.arg) for node in walk(tree)):
        return None  # which data are not
    known = _known(_read(text, [entry], parameter.arg))
    return _call(NAMESPACE, known) if known else None


def _is_called(node: ast.AST, name: str) -> bool:
    """Whether a name is called, or one of its methods is."""
    match node:
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(value=ast.Name(id=called))):
            return called == name
    return False


def _known(read: Iterable[str]) -> dict[str, str]:
    """Values for attributes whose names tell one."""
    found = {
        one: str(_size(one) or next((v for pattern, v in _DATA if pattern.match(one)), "")) for one in sorted(read)
    }
    return {one: value for one, value in found.items() if value}


def _call(name: str, given: Mapping[str, int | str]) -> str:
    return f"{name}({', '.join(f'{one}={size}' for one, size in given.items())})"


def _hidden(given: Mapping[str, int | str]) -> int | None:
    return next((int(size) for one, size in given.items() if _HIDDEN.match(one)), None)


def _size(name: str) -> int | None:
    return next((size for pattern, size in _SIZES if pattern.match(name)), None)


def _class(text: str, entry: str, parameter: ast.arg) -> str | None:
    """The class that makes what is given to the parameter; of several that one which is called most like the entry."""
    if parameter.annotation is not None:
        named = _ANNOTATION.match(ast.unparse(parameter.annotation).strip("'\""))
        return named[1] if named and named[1] not in _NOBODYS else None
    if not _NAME.match(parameter.arg):
        return None
    found = [name for name in definitions(text) if _CLASS.fullmatch(name)] or _CLASS.findall(code(text))
    alike = lambda name: len([*itertools.takewhile(lambda pair: pair[0] == pair[1], zip(name, entry, strict=False))])
    return max(found, key=alike, default=None)


def _read(text: str, entries: Iterable[str], parameter: str) -> frozenset[str]:
    """The attributes of a parameter that classes read, and that those classes and functions do which they pass it on to."""
    found: set[str] = set()
    waiting = [*entries]
    seen = {*waiting}
    while waiting:
        tree = definition(text, waiting.pop())
        for node in walk(tree) if tree is not None else ():
            match node:
                case ast.Attribute(value=ast.Name(id=owner) | ast.Attribute(attr=owner), attr=attribute):
                    found |= {attribute} if owner == parameter else set()
                case ast.Call(
                    func=ast.Name("getattr"),
                    args=[ast.Name(id=owner) | ast.Attribute(attr=owner), ast.Constant(value=str(attribute)), *_],
                ):
                    found |= {attribute} if owner == parameter else set()
                case ast.Call(func=ast.Name(id=called)) if called not in seen:
                    given = (*node.args, *(one.value for one in node.keywords))
                    if any(isinstance(one, ast.Name) and one.id == parameter for one in given):
                        seen.add(called)
                        waiting.append(called)
    return frozenset(found)


def _fields(text: str, name: str) -> Mapping[str, bool] | None:
    """What a configuration of the file takes, and whether it has a default; None where another file says that."""
    tree = definition(text, name)
    if not isinstance(tree, ast.ClassDef) or tree.bases:
        return None
    init = next((one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
    if init is not None:
        return {parameter.arg: default is not None for parameter, default in Parameters(init, True).all()}
    if "dataclass" not in decorators_of(text, name):
        return {}
    declared = [one for one in tree.body if isinstance(one, ast.AnnAssign)]
    return {one.target.id: one.value is not None for one in declared if isinstance(one.target, ast.Name)}
