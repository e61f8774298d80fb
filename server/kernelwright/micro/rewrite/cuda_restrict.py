"""`const` and `__restrict__` on the pointers of a kernel through which nothing is written."""

import re

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_buffers import roots
from kernelwright.micro.rewrite.cuda_patch import Patch
from kernelwright.micro.rewrite.cuda_pointers import READ, mentions, uses, written
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.source.cuda import Launch, Parameter
from kernelwright.source.cuda.text import field, of_type, spelled
from kernelwright.values import Refusal

_NAMED_CASTS = ("reinterpret_cast", "static_cast")


def unrestricted(sight: CudaSight) -> tuple[Parameter, ...] | Refusal:
    """The parameters that may become `const T* __restrict__` and are not yet."""
    pointers = [one for one in sight.kernel.parameters if one.is_pointer]
    reads = [one for one in pointers if _only_read(sight, one)]
    if not pointers:
        return Refusal("The kernel gets no pointers.")
    if not reads:
        return Refusal("The kernel writes through every pointer that it gets, or may.", _line(sight))
    open_ones = [one for one in reads if not (one.is_const and one.is_restrict)]
    if not open_ones:
        return Refusal("Every pointer that the kernel only reads is const __restrict__ already.", _line(sight))
    elsewhere = mentions(sight.file, sight.kernel)
    if elsewhere:
        line = elsewhere[0].start_point.row
        return Refusal("The kernel is declared or passed on in another place, where its type has to stay.", line)
    shared = [(one, why) for one in open_ones if (why := aliased(sight, one))]
    found = tuple(one for one in open_ones if one not in [other for other, _ in shared])
    return found or shared[0][1] or Refusal("No pointer is left.")


def restricted(sight: CudaSight, parameters: tuple[Parameter, ...]) -> Patch:
    """The text with these parameters const and restricted, and the locals made of them const with them."""
    patch, seen = sight.patch(), set[int]()
    for one in parameters:
        if not one.is_const:
            patch.before(one.node, "const ")
        if not one.is_restrict:
            patch.before(_name(sight, one), "__restrict__ ")
        for declaration in _aliases(sight, one):
            if declaration.start_byte not in seen and not _is_const(sight, declaration):
                seen.add(declaration.start_byte)
                patch.before(declaration, "const ")
    return patch


def _only_read(sight: CudaSight, parameter: Parameter) -> bool:
    """Whether nothing is written behind it, and its declaration, and those of locals made of it, can become const."""
    found = uses(sight.file, sight.kernel, parameter.name)
    declarator = field(parameter.node, "declarator")
    if not found or {one.kind for one in found} != {READ} or parameter.pointers != 1:
        return False
    if declarator is None or declarator.type != "pointer_declarator":
        return False
    return parameter.is_const or all(
        _may_be_const(sight, declaration, parameter) for declaration in _aliases(sight, parameter)
    )


def _may_be_const(sight: CudaSight, declaration: Node, parameter: Parameter) -> bool:
    """Whether a local pointer declared here is const, or becomes it by a word in front: it declares nothing else."""
    if _is_const(sight, declaration):
        return True
    declared = [one for one in declaration.named_children if one.type == "init_declarator"]
    names = declaration.named_children[-1:] == declared and len(declared) == 1
    kind = field(declaration, "type")
    casts = (field(one, "function", "name") for one in of_type(declaration, "call_expression"))
    named = any(one is not None and sight.content(one) in _NAMED_CASTS for one in casts)
    return names and not named and kind is not None and sight.content(kind) == parameter.base


def _aliases(sight: CudaSight, parameter: Parameter) -> tuple[Node, ...]:
    found = (one for use in uses(sight.file, sight.kernel, parameter.name) for one in use.aliases)
    return tuple(one for one in found if one.type == "declaration")


def _is_const(sight: CudaSight, declaration: Node) -> bool:
    written_before = sight.content(declaration).split("*")[0].split("=")[0]
    return bool({"const", "auto"} & set(written_before.split()))


def aliased(sight: CudaSight, parameter: Parameter) -> Refusal | None:
    """Why the memory behind a parameter may be what the kernel writes: the same buffer is passed for both."""
    places = {one.name: place for place, one in enumerate(sight.kernel.parameters)}
    others = written(sight.file, sight.kernel) - {parameter.name}
    for launch in sight.launches:
        for other in sorted(others, key=lambda name: places[name]):
            if max(places[parameter.name], places[other]) >= len(launch.arguments):
                continue
            one, two = launch.arguments[places[parameter.name]], launch.arguments[places[other]]
            common = sorted(roots(sight.file, launch.function, one) & roots(sight.file, launch.function, two))
            if common:
                return Refusal(
                    f"{parameter.name} and {other} are both made of {common[0]} at this launch, so that what is read may "
                    "be written.",
                    launch.node.start_point.row,
                )
            line = _called_in_place(sight, launch, one, two)
            if line is not None:
                return Refusal(
                    f"{launch.function.name} is called here with one buffer for {parameter.name} and {other}.", line
                )
    return None


def _called_in_place(sight: CudaSight, launch: Launch, one: Node, two: Node) -> int | None:
    """The line of a call of the launcher in this file that passes one buffer for both arguments of a launch."""
    places = [parameter.name for parameter in launch.function.parameters]
    if sight.content(one) not in places or sight.content(two) not in places:
        return None
    first, second = places.index(sight.content(one)), places.index(sight.content(two))
    named = re.compile(rf"\b{re.escape(launch.function.name)}\b".encode())
    for call in spelled(sight.file.source, named, "call_expression"):
        callee, listed = field(call, "function"), field(call, "arguments")
        if callee is None or listed is None or sight.content(callee) != launch.function.name:
            continue
        given = [sight.content(node) for node in listed.named_children if node.type != "comment"]
        if max(first, second) < len(given) and given[first] == given[second]:
            return call.start_point.row
    return None


def _name(sight: CudaSight, parameter: Parameter) -> Node:
    declarator = field(parameter.node, "declarator")
    assert declarator is not None
    return next(one for one in of_type(declarator, "identifier") if sight.content(one) == parameter.name)


def _line(sight: CudaSight) -> int:
    return sight.kernel.name_node.start_point.row
