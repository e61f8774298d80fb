"""Mark the loads of what a kernel reads only once, so that caches keep what it reads again."""

import ast
from collections.abc import Iterator

from kernelwright.macro.intent import Intent, Text
from kernelwright.macro.strategy import Example, Family, Observation, Strategy
from kernelwright.micro.edits import difference
from kernelwright.micro.rewrite.triton_constants import replaced
from kernelwright.micro.rewrite.triton_memory import Touch, touches
from kernelwright.micro.rewrite.triton_source import Fragment, assigned_names, kernel_fragment, names_read
from kernelwright.source.bindings import bindings_of
from kernelwright.source.calls import argument, dotted
from kernelwright.source.trees import walk
from kernelwright.values import Action, Language, Refusal, Region, TextEdit, digest

_ID = "triton.stream-loads"
_HINT = 'eviction_policy="evict_first"'
_TL = "triton.language."
_SPOKEN = ("cache_modifier", "eviction_policy", "volatile")
_TYPES = ("dtype", "type")
_POSITIONAL = 5  # arguments of `tl.load` that say nothing of caches
_RANGES = ("range", "static_range")
_PROGRAMS = ("program_id", "num_programs")  # also those that other libraries put around Triton's
_LANES = (_TL + "arange", _TL + "make_block_ptr")
_KEEPS_APART = (*_LANES, *(_TL + name for name in ("advance", "multiple_of", "max_contiguous", "cast")))
"""Calls in an address that give different programs, and different elements, no equal numbers."""


def find(observation: Observation) -> tuple[Action, ...] | Refusal:
    if not observation.device.is_gpu:
        return Refusal("Whether a hint to the caches pays needs a GPU to measure, and there is none here.")
    found = _streamed(observation)
    if isinstance(found, Refusal):
        return found
    fragment, loads = found
    kept = {touch.parameter for touch in touches(fragment.reading) if touch.kind == "load"} - {
        one.parameter for one in loads
    }
    names = ", ".join(dict.fromkeys(str(one.parameter) for one in loads))
    kernel = observation.kernel
    region = Region(kernel.start_line, kernel.end_line, digest(observation.text), f"loads of {names}")
    return (Action(_ID, region, {"expected_gain": 0.03 if kept else 0.0}),)


def intent(observation: Observation, action: Action) -> Intent | Refusal:
    found = _streamed(observation)
    if isinstance(found, Refusal):
        return found
    fragment, loads = found
    text = replaced(observation.text, [edit for one in loads for edit in _hinted(fragment, one.call)])
    names = ", ".join(dict.fromkeys(str(one.parameter) for one in loads))
    return Text((difference(observation.text, text, f"{names} evicted first"),))


def _streamed(observation: Observation) -> tuple[Fragment, tuple[Touch, ...]] | Refusal:
    """The kernel, and the loads of tensors of which it reads each element once, as far as its text tells."""
    fragment = kernel_fragment(observation.text, observation.kernel)
    if isinstance(fragment, Refusal):
        return fragment
    found = touches(fragment.reading)
    if any(touch.parameter is None for touch in found):
        return Refusal("Not every pointer can be followed to a parameter, so what is read once cannot be told.")
    several = _handed_on(fragment) | {one.parameter for one in found for other in found if _again(fragment, one, other)}
    once = (one for one in found if one.parameter not in several)
    loads = tuple(one for one in once if _may_be_hinted(fragment, one.call) and _reads_once(fragment, one.call))
    return (fragment, loads) if loads else Refusal("No load without a hint reads each element of its tensor only once.")


def _again(fragment: Fragment, one: Touch, other: Touch) -> bool:
    """Whether both reach the same tensor, and neither stands in a branch that is taken instead of the other's."""
    if one is other or one.parameter != other.parameter:
        return False
    first, second = (_branches(fragment, touch.call) for touch in (one, other))
    return not any((branch, not taken) in second for branch, taken in first)


def _branches(fragment: Fragment, call: ast.Call) -> set[tuple[ast.If, bool]]:
    """The branches that a call stands in, and for each whether it is the one for a condition that holds."""
    ifs = [node for node in fragment.reading.nodes if isinstance(node, ast.If)]
    sides = ((node, taken, body) for node in ifs for taken, body in ((True, node.body), (False, node.orelse)))
    return {(node, taken) for node, taken, body in sides if any(call in walk(part) for part in body)}


def _handed_on(fragment: Fragment) -> set[str | None]:
    """The names that functions get which are none of Triton's own: they may read memory, too."""
    calls = (node for node in fragment.reading.nodes if isinstance(node, ast.Call))
    strangers = (call for call in calls if not fragment.called(call).startswith("triton."))
    arguments = (arg for call in strangers for arg in (*call.args, *(keyword.value for keyword in call.keywords)))
    parts = (part for arg in arguments for part in _behind(fragment, arg) if not _loads(fragment, part))
    return {name for part in parts for name in names_read(part) - _only_asked_for_types(part)}


def _only_asked_for_types(part: ast.expr) -> set[str]:
    """The names that are read for their type alone: `x.to(out_ptr.dtype.element_ty)`."""
    types = {
        inner for node in walk(part) if isinstance(node, ast.Attribute) and node.attr in _TYPES for inner in walk(node)
    }
    names = [node for node in walk(part) if isinstance(node, ast.Name)]
    return {node.id for node in names if node in types} - {node.id for node in names if node not in types}


def _may_be_hinted(fragment: Fragment, call: ast.Call) -> bool:
    """Whether it is a `tl.load` that says nothing of caches yet."""
    plain = len(call.args) <= _POSITIONAL and not any(isinstance(arg, ast.Starred) for arg in call.args)
    silent = all(keyword.arg is not None and keyword.arg not in _SPOKEN for keyword in call.keywords)
    return fragment.called(call) == _TL + "load" and plain and silent and bool(list(_hinted(fragment, call)))


def _reads_once(fragment: Fragment, call: ast.Call) -> bool:
    """Whether the address differs from program to program and from turn to turn of the loops around the load."""
    pointer = argument(call, 0, "pointer")
    assert pointer is not None
    parts = _behind(fragment, pointer)
    nodes = [node for part in parts for node in walk(part)]
    if not all(_keeps_apart(fragment, node, nodes) for node in nodes):
        return False
    programs, told = ({ast.dump(node) for node in some if _is_program(node)} for some in (fragment.nodes, nodes))
    names = frozenset(name for part in parts for name in names_read(part))
    loops = (node for node in fragment.nodes if isinstance(node, ast.For | ast.While) and call in walk(node))
    blocks = any(fragment.called(node) in _LANES for node in nodes)
    return blocks and bool(programs) and told == programs and all(names & assigned_names(loop) for loop in loops)


def _is_program(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] == _PROGRAMS[0]


def _behind(fragment: Fragment, expression: ast.expr) -> tuple[ast.expr, ...]:
    """The expression and all that the names in it were assigned, and so on, as far as the next load.

    Of a loop's range it is what is not its end.
    """
    assigned = bindings_of(fragment.function)
    found = [expression]
    for part in found:  # grows meanwhile
        for binding in assigned if not _loads(fragment, part) else ():
            if binding.name in names_read(part):
                found += [one for one in _but_the_end(binding.value) if one not in found]
    return tuple(found)


def _loads(fragment: Fragment, part: ast.expr) -> bool:
    return any(fragment.called(node) == _TL + "load" for node in walk(part))


def _but_the_end(value: ast.expr) -> list[ast.expr]:
    """What is assigned; of a range where it begins and how far it steps, since its end decides no address."""
    if not isinstance(value, ast.Call) or dotted(value.func).rpartition(".")[2] not in _RANGES:
        return [value]
    return [*value.args[:1], *value.args[2:]] if len(value.args) > 1 else []


def _keeps_apart(fragment: Fragment, node: ast.AST, address: list[ast.AST]) -> bool:
    """Whether a part of an address brings no different numbers together: alone, or with its other half beside it."""
    match node:
        case ast.BinOp(op=ast.FloorDiv() | ast.Mod()):
            halves = {type(one.op) for one in address if isinstance(one, ast.BinOp) and _same_operands(one, node)}
            return {ast.FloorDiv, ast.Mod} <= halves or not _varies(fragment, node)
        case ast.Call():
            cast = isinstance(node.func, ast.Attribute) and node.func.attr == "to"
            programs = dotted(node.func).rpartition(".")[2] in _PROGRAMS
            return cast or programs or fragment.called(node) in _KEEPS_APART or not _varies(fragment, node)
    return True


def _same_operands(one: ast.BinOp, other: ast.BinOp) -> bool:
    return (ast.dump(one.left), ast.dump(one.right)) == (ast.dump(other.left), ast.dump(other.right))


def _varies(fragment: Fragment, node: ast.expr) -> bool:
    """Whether a value may differ from program to program, from lane to lane or from turn to turn of a loop."""
    if _loads(fragment, node):
        return True
    looped = frozenset[str]().union(*(assigned_names(n) for n in fragment.nodes if isinstance(n, ast.For | ast.While)))
    parts = _behind(fragment, node)
    calls = (inner for part in parts for inner in walk(part) if isinstance(inner, ast.Call))
    return any(names_read(part) & looped or _loads(fragment, part) for part in parts) or any(
        _is_program(call) or not fragment.called(call).startswith("triton.") or fragment.called(call) in _LANES
        for call in calls
    )


def _hinted(fragment: Fragment, call: ast.Call) -> Iterator[TextEdit]:
    """The hint as the last argument; nothing where a comment stands behind the arguments."""
    given: list[ast.expr | ast.keyword] = [*call.args, *call.keywords]
    last = max(fragment.span(node)[1] for node in given)
    end = fragment.span(call)[1] - 1
    tail = fragment.text[last:end]
    if "#" in tail:
        return
    place = last + len(tail.rstrip())
    if not tail.rstrip().endswith(","):
        yield TextEdit(place, place, f", {_HINT}")
        return
    line = fragment.text[fragment.text.rfind("\n", 0, last) + 1 : last]
    gap = "\n" + line[: len(line) - len(line.lstrip())] if "\n" in tail else " "
    yield TextEdit(place, place, f"{gap}{_HINT},")


_BEFORE = """\
import torch
import triton
import triton.language as tl


@triton.jit
def rms_norm_kernel(x_ptr, weight_ptr, out_ptr, n_columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    columns = tl.arange(0, BLOCK)
    mask = columns < n_columns
    x = tl.load(x_ptr + row * n_columns + columns, mask=mask, other=0.0)
    weight = tl.load(weight_ptr + columns, mask=mask)
    scale = tl.rsqrt(tl.sum(x * x) / n_columns + eps)
    tl.store(out_ptr + row * n_columns + columns, x * scale * weight, mask=mask)


# workload: rms_norm(randn(65536, 4096), randn(4096))
# workload: rms_norm(randn(7, 100), randn(100))
def rms_norm(x, weight):
    out = torch.empty_like(x)
    n = x.shape[-1]
    rms_norm_kernel[(x.numel() // n,)](x, weight, out, n, 1e-6, BLOCK=triton.next_power_of_2(n))
    return out
"""

STRATEGY = Strategy(
    id=_ID,
    title="Stream loads",
    family=Family.CACHE,
    languages=frozenset({Language.TRITON}),
    why="What is read only once takes room in the caches from what is read again, unless its loads say so.",
    doc="""\
Adds `eviction_policy="evict_first"` to the loads of tensors of which a kernel reads each element only once. It is a hint:
no value changes. Triton hands it on to the PTX it compiles for NVIDIA GPUs, and NVIDIA's PTX manual says of data with this
priority that it is first in the order of eviction, and that the priority suits streaming data. Nothing promises a gain:
only a measurement can tell, and where the kernel reads nothing again, none is to be expected.

A load counts as streamed when it is the only access to its tensor in the kernel, when its address follows every program id
that the kernel asks for and every loop around it, and when nothing on the way to the address brings different numbers
together: a number that was read from memory, or `//` or `%` of what differs from program to program, where the other half
is not in the address, too. Stores are left alone: the next kernel may find their data in the cache, which a measurement of
this one alone does not show.

It does not apply where a load already says something of caches, where a pointer cannot be followed to its parameter, or when
there is no GPU to measure on.
""",
    instruction="""\
Add eviction_policy="evict_first" to the tl.load calls whose tensor is read only once by the whole launch, and to no others.
Change nothing else.""",
    example=Example(
        before=_BEFORE,
        after=_BEFORE.replace("mask=mask, other=0.0)", f"mask=mask, other=0.0, {_HINT})"),
    ),
    find=find,
    intent=intent,
    promises_kernel=True,
    needs_gpu=True,
)
