"""The launches of a kernel that the workload lines of a text lead to, as numbers."""

import re
from collections.abc import Iterator, Mapping, Sequence
from math import prod

from tree_sitter import Node

from kernelwright.indices.memory import Launched
from kernelwright.source.cuda.definitions import File, Function, Launch
from kernelwright.source.cuda.flow import Flow
from kernelwright.source.cuda.numbers import Numbers
from kernelwright.source.cuda.text import walk
from kernelwright.source.estimate import itemsize
from kernelwright.source.findings.cuda_launches import LaunchSite
from kernelwright.source.workload import WorkloadError, evaluate
from kernelwright.values import Call, TensorSpec

_ITEM = re.compile(r"[^,<>]+(?:<[^<>]*>)?")
_WIDEST = 1 << 31


def launches(file: File, kernel: Function, lines: Sequence[str]) -> Iterator[Launched]:
    """How each workload line launches the kernel, where the line and the text say all of grid and block."""
    for line in lines:
        try:
            call = evaluate(line)
        except WorkloadError:
            continue
        if call.entry == kernel.name:
            found = [_bare(file, kernel, call)]
        else:
            calling = (one for one in file.launches_of(kernel.name) if one.function.name == call.entry)
            found = [_launched(file, kernel, one, call) for one in calling]
        yield from (one for one in found if one is not None)


def all_launches(file: File, line: str) -> list[tuple[Function, Launched]] | None:
    """Every kernel that a workload line has run, with its launch; None where one of them may run otherwise."""
    try:
        call = evaluate(line)
    except WorkloadError:
        return None
    entry = file.function(call.entry)
    if entry is None or entry.is_kernel:
        bare = _bare(file, entry, call) if entry is not None else None
        return [(entry, bare)] if entry is not None and bare is not None else None
    found = list[tuple[Function, Launched]]()
    for launch in (one for one in file.launches if one.function is entry):
        kernel = file.kernel(launch.kernel)
        made = _is_made(file, launch, call)
        if made is False:
            continue
        launched = _launched(file, kernel, launch, call) if kernel is not None and made else None
        if kernel is None or launched is None:
            return None
        found.append((kernel, launched))
    return found or None


def _is_made(file: File, launch: Launch, call: Call) -> bool | None:
    """Whether a launch is made once when the host function is called as a line says; None where that is not known."""
    flow = Flow(file, launch.function)
    given = _arguments(launch.function, call)
    numbers = Numbers(flow, {name: one for name, one in given.items() if isinstance(one, int | float)})
    result: bool | None = True
    for guard in flow.guards(launch.node):
        found = numbers.of(guard.condition)
        if not guard.is_loop and found is not None and guard.holds is not None and bool(found) is not guard.holds:
            return False
        if guard.is_loop or guard.holds is None or (found is None and _reads_parameters(flow, guard.condition)):
            result = None
    return result


def _bare(file: File, kernel: Function, call: Call) -> Launched | None:
    """The launch that a line writes out itself."""
    if call.grid is None or call.block is None:
        return None
    given = _arguments(kernel, call)
    template = [one.strip() for one in _ITEM.findall(call.template)]
    values, types = dict[str, int](), dict[str, str]()
    for name, written in zip(kernel.templates, template, strict=False):
        number = file.number(written)
        if number is not None:
            values[name] = number
        else:
            types[name] = written
    values |= {name: int(one) for name, one in given.items() if isinstance(one, int)}
    extents = _extents(given)
    return _of(call.grid, call.block, values, types, extents, call.shared, {name: name for name in extents})


def _launched(file: File, kernel: Function, launch: Launch, call: Call) -> Launched | None:
    """The launch that a host function makes when it is called as a line says; None where it may make another one."""
    given = _arguments(launch.function, call)
    flow = Flow(file, launch.function)
    numbers = Numbers(flow, {name: one for name, one in given.items() if isinstance(one, int | float)})
    for guard in flow.guards(launch.node):
        found = numbers.of(guard.condition)
        if guard.is_loop or (found is None and not _reads_parameters(flow, guard.condition)):
            continue
        if found is None or guard.holds is None or bool(found) is not guard.holds:
            return None
    shapes = {name: one.shape for name, one in given.items() if isinstance(one, TensorSpec)}
    site = LaunchSite(launch, flow, numbers, kernel, shapes)
    if None in site.grid or None in site.block:
        return None
    extents, tensors = dict[str, int](), dict[str, str]()
    inner = site.extents
    held = _extents(given)
    for parameter, argument in zip(kernel.parameters, launch.arguments, strict=False):
        name = flow.content(argument)
        if parameter.name in inner and name in held:
            extents[parameter.name], tensors[parameter.name] = held[name], name
    values = {name: value for name, value in site.values.items() if isinstance(value, int)}
    types = dict(site.types)
    for name in [name for name, written in types.items() if written.isidentifier()]:
        number = numbers.named(types[name], launch.node)
        if isinstance(number, int):
            values[name] = number
            del types[name]
    shared = numbers.whole(launch.shared) if launch.shared is not None else 0
    return _of(site.grid, site.block, values, types, extents, shared, tensors)


def _reads_parameters(flow: Flow, condition: Node) -> bool:
    """Whether what a line gives decides a condition, and not the turn of a loop or an error."""
    seen, waiting = set[int](), [condition]
    while waiting:
        for one in walk(waiting.pop()):
            variable = flow.variable(one) if one.type == "identifier" else None
            if variable is None or variable.node.id in seen:
                continue
            seen.add(variable.node.id)
            if variable.is_parameter:
                return True
            waiting += [write.value for write in flow.writes(variable) if write.value is not None]
    return False


def _of(
    grid: Sequence[int | None],
    block: Sequence[int | None],
    values: Mapping[str, int],
    types: Mapping[str, str],
    extents: Mapping[str, int],
    shared: int | None,
    tensors: Mapping[str, str],
) -> Launched | None:
    whole = [*grid, *(1,) * (3 - len(grid)), *block, *(1,) * (3 - len(block))]
    sizes = [one for one in whole if one is not None and 0 < one < _WIDEST]
    if len(sizes) < 6 or prod(sizes[3:]) > 1024:
        return None
    x, y, z, width, height, depth = sizes
    return Launched((x, y, z), (width, height, depth), dict(values), dict(types), dict(extents), shared, dict(tensors))


def _arguments(function: Function, call: Call) -> dict[str, object]:
    names = [one.name for one in function.parameters]
    return {**dict(zip(names, call.args, strict=False)), **call.kwargs}


def _extents(given: Mapping[str, object]) -> dict[str, int]:
    """The bytes of tensors that lie in one piece."""
    tensors = {name: one for name, one in given.items() if isinstance(one, TensorSpec) and not one.strides}
    return {name: prod(one.shape) * itemsize(one.dtype) for name, one in tensors.items()}
