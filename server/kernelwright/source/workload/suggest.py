"""Workload lines for a kernel that has none: guesses from the parameters and bodies of what launches it, best first.

What a body says holds in all of them (see evidence.py). Where it says nothing there are choices, and a guess costs as much
as its choices are far from the usual.
"""

import ast
import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import replace

from kernelwright.source.trees import walk
from kernelwright.source.workload.configured import Configuration, configurations, namespace
from kernelwright.source.workload.evaluate import WorkloadError, evaluate
from kernelwright.source.workload.evidence import evidence_of
from kernelwright.source.workload.find import definitions, uses
from kernelwright.source.workload.guesses import FEW, Guesses, is_nothing
from kernelwright.source.workload.guessing import (
    AXIS,
    LAST_DIMENSION,
    NOTHING,
    Choice,
    choices,
    known_size,
    scalar,
)
from kernelwright.source.workload.launches import lines_for_launch
from kernelwright.source.workload.signature import Parameters, Signature, decorators_of, signature_of
from kernelwright.source.workload.told import Evidence
from kernelwright.values import Call, Kernel, Language, Refusal, TensorSpec

MOST = 32
_OF_A_USER = 8  # lines for a function that calls the entry
_MOST_USERS = 2

_UNDOCUMENTED = 12  # lines for which a docstring does not count
_MOST_ELEMENTS = 1 << 28  # of a line: a gigabyte
_RANDOM = ("randn", "rand")
_Configured = Mapping[str, tuple[Configuration, ...]]  # by the names of a constructor's parameters
_INIT = "constructor's "  # before the names of its parameters, of which the call may have some, too


def suggest_lines(text: str, kernel: Kernel | str) -> tuple[str, ...] | Refusal:
    """Lines `# workload: entry(…)` for a kernel or an entry's name, best first, then some for functions that call the entry.

    Sizes are those of a kernel worth timing; names of sizes that several tensors share are kept equal.
    """
    entry = kernel if isinstance(kernel, str) else kernel.entry
    if entry is None or (isinstance(kernel, Kernel) and entry == kernel.name and kernel.language is Language.TRITON):
        return _launches(text, kernel) if isinstance(kernel, Kernel) else Refusal("There is nothing to call.")
    own = _lines(text, entry)
    found = [lines[:_OF_A_USER] for user in _users(text, entry) if isinstance(lines := _lines(text, user), tuple)]
    if isinstance(own, Refusal):
        return tuple(itertools.chain(*found)) or own
    room = MOST - sum(map(len, found))
    return (*own[:room], *itertools.chain(*found))


def _launches(text: str, kernel: Kernel) -> tuple[str, ...] | Refusal:
    """Launches of a kernel without any function of its file."""
    name = kernel.name
    signature = signature_of(text, name, decorated=True)
    if signature is None or signature.call is None:
        return Refusal(f"{name} is no function at the top of its file, so a workload line cannot call it.")
    return lines_for_launch(text, name, signature.call, decorators_of(text, name), kernel.launches)


def with_gradients(call: str) -> str | None:
    """The call with gradients of all its random tensors asked for; None where it has none, or asks already."""
    tree = ast.parse(call, mode="eval")
    random = [
        n for n in walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id in _RANDOM
    ]
    if not random or any(k.arg == "requires_grad" for n in random for k in n.keywords):
        return None
    for made in random:
        made.keywords.append(ast.keyword("requires_grad", ast.Constant(True)))
    return ast.unparse(tree)


def tensors_of(call: str) -> list[str]:
    """What makes the tensors of a call, as it is written; [] for what does not read as a call."""
    try:
        tree = ast.parse(call, mode="eval").body
    except SyntaxError:
        return []
    return [ast.unparse(node) for node in walk(tree) if isinstance(node, ast.Call) and node is not tree]


def _users(text: str, entry: str) -> list[str]:
    """Functions and classes of the file that call the entry, the first ones."""
    found = (name for name in definitions(text) if name != entry and not name.startswith(("test", "bench")))
    users = (name for name in found if (s := signature_of(text, name)) and not s.is_triton and uses(text, name, entry))
    return list(itertools.islice(users, _MOST_USERS))


def calls_with_constructor(text: str, entry: str, constructor: str) -> tuple[str, ...]:
    """Calls of a class as `suggest_lines` guesses them, for a constructor that its file does not define.

    `constructor` is its definition, `def __init__(self, …): …`; there are no calls where that does not parse.
    """
    try:
        (tree,) = ast.parse(constructor).body
    except (SyntaxError, ValueError, RecursionError):
        return ()
    lines = _lines(text, entry, Parameters(tree, True)) if isinstance(tree, ast.FunctionDef) else ()
    return () if isinstance(lines, Refusal) else tuple(line.removeprefix("# workload: ") for line in lines)


def _lines(text: str, entry: str, constructor: Parameters | None = None) -> tuple[str, ...] | Refusal:
    signature = _signature(text, entry)
    if signature is None:
        return Refusal(f"The parameters of {entry} cannot be read from its source; write its workload line by hand.")
    if signature.is_triton:
        return Refusal(f"{entry} is a Triton kernel: add a function that launches it, then a workload line for that.")
    if signature.inherits_constructor:
        signature = replace(signature, init=constructor)
    if signature.call is None:
        return Refusal(f"{entry} has no forward method in this file; write its workload line by hand.")
    evidence = evidence_of(text, signature.call)
    if not evidence.is_documented:
        return _guessed(text, signature, evidence, MOST)
    documented = _guessed(text, signature, evidence, MOST - _UNDOCUMENTED)
    plain = _guessed(text, signature, evidence_of(text, signature.call, documented=False), MOST)
    lines = [*itertools.chain.from_iterable(found for found in (documented, plain) if not isinstance(found, Refusal))]
    return tuple(dict.fromkeys(lines))[:MOST] or documented


def _guessed(text: str, signature: Signature, evidence: Evidence, most: int) -> tuple[str, ...] | Refusal:
    """At most so many lines by what is known of the parameters."""
    assert signature.call is not None
    entry = signature.name
    namespaces = {
        parameter.arg: written
        for parameter, default in signature.call.all()
        if default is None and (written := namespace(text, entry, parameter)) is not None
    }
    guesses = Guesses(signature.call, evidence, namespaces)
    configured = {
        parameter.arg: values
        for parameter, default in (signature.init.all() if signature.init else ())
        if default is None and (values := configurations(text, entry, parameter))
    }
    found: dict[str, None] = {}
    refused = ""
    for choice in itertools.islice(choices(_deviations(guesses, signature.init, configured)), 8 * MOST):
        if guesses.has_sequences:
            choice = {"sizes": "sequences", **choice}
        construction, last = _construction(signature, choice, configured)
        call = f"{entry}{construction}({', '.join(guesses.arguments(choice, last))})"
        try:
            if _elements(evaluate(call)) > _MOST_ELEMENTS:
                continue
        except WorkloadError as error:
            refused = refused or error.message
            continue
        found[f"# workload: {call}"] = None
        if len(found) == most:
            break
    return tuple(found) or Refusal(f"No workload line could be written for {entry}: {refused}")


def _elements(call: Call) -> int:
    """How many elements the tensors of a call have."""
    return sum(math.prod(value.shape) for value in (*call.args, *call.kwargs.values()) if isinstance(value, TensorSpec))


def _signature(text: str, entry: str) -> Signature | None:
    """Also of a function with decorators, and of a name for the `apply` of an autograd.Function."""
    signature = signature_of(text, entry, decorated=True)
    if signature is not None or entry not in definitions(text):
        return signature
    start, end = definitions(text)[entry]
    alias = re.match(r"\w+\s*=\s*(\w+)\.apply\s*$", text[start:end].split("\n")[0])
    named = signature_of(text, alias[1]) if alias is not None else None
    return replace(named, name=entry, is_class=False, applied=False) if named is not None else None


def _deviations(guesses: Guesses, init: Parameters | None, configured: _Configured) -> list[tuple[int, str, str]]:
    found = [(2, "sizes", "equal"), *((3, "sizes", few) for few in FEW)]
    if guesses.has_sequences:
        found.append((1, "sizes", "usual"))
    free = [name for name, told in guesses.tensors() if not told.rank]
    if free:
        found += [(2 + n, f"rank {free[0]}", str(rank)) for n, rank in enumerate(guesses.ranks(free[0])[1:])]
    if any(True for _ in guesses.tensors()):
        found += [(4 + n, "dtype", kind) for n, kind in enumerate(guesses.dtypes[1:])]
        found.append((3, "lower", "prefix"))
        if guesses.optional:
            found.append((2, "optional", "given"))
        found += [(4, "transposed", name) for name, _ in itertools.islice(guesses.tensors(), 2)]
    for parameter, default in guesses.parameters.all():
        found += [
            (1 + n + (not value.endswith(" tensors")), parameter.arg, value)
            for n, value in enumerate(guesses.values(parameter, default)[1:])
        ]
    for parameter, default in init.all() if init else ():
        if is_nothing(default) and not NOTHING.match(parameter.arg):
            found += [(1 + n, _INIT + parameter.arg, value) for n, value in enumerate(scalar(parameter))]
    found += [(1, _INIT + name, "1") for name, values in configured.items() if len(values) > 1]
    return found


def _construction(signature: Signature, choice: Choice, configured: _Configured) -> tuple[str, int | None]:
    """What an entry's name is followed by, and the size of the last dimension that a constructor's parameters speak of."""
    if signature.applied:
        return ".apply", None
    if not signature.is_class:
        return "", None
    given: list[str] = []
    last = None
    for parameter, default in signature.init.all() if signature.init else ():
        if parameter.arg in configured:
            made = configured[parameter.arg][int(choice.get(_INIT + parameter.arg, "0"))]
            given.append(f"{parameter.arg}={made.written}" if given and "=" in given[-1] else made.written)
            last = last or made.hidden
        elif _INIT + parameter.arg in choice:
            given.append(f"{parameter.arg}={choice[_INIT + parameter.arg]}")
        elif default is None:
            sized = AXIS.match(parameter.arg)  # of a constructor, a size
            value = ((not sized and scalar(parameter)) or [known_size(parameter.arg, choice)])[0]
            if last is None and LAST_DIMENSION.match(parameter.arg) and value.isdigit():
                last = int(value)
            keyword = signature.init is not None and parameter in signature.init.tree.args.kwonlyargs
            given.append(f"{parameter.arg}={value}" if keyword else value)
    return f"({', '.join(given)})", last
