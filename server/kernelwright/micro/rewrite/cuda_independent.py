"""Whether the elements that a kernel computes have nothing to do with each other, nor its threads."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_threads import Elementwise
from kernelwright.source.cuda import File, Function
from kernelwright.source.cuda.expressions import BUILT_IN, Names
from kernelwright.source.cuda.text import field, of_type, walk
from kernelwright.values import Refusal

_TOGETHER = re.compile(
    r"__(?:syncthreads|shfl|syncwarp|ballot|any_|all_|activemask|match_|reduce_|shared__|cvta|pipeline)|warpSize$"
    r"|cooperative_groups$|cg$|barrier$|this_thread_block$"
)
_LEAVES = (
    "return_statement",
    "goto_statement",
    "labeled_statement",
    "preproc_if",
    "preproc_ifdef",
    "lambda_expression",
)


def works_together(file: File, kernel: Function) -> Refusal | None:
    """Where the threads of a block have to do with each other."""
    for function in (kernel, *called(file, kernel)):
        for node in walk(function.body):
            written = file.source.content(node) if node.child_count == 0 else ""
            line = node.start_point.row
            if node.type == "gnu_asm_expression" or _TOGETHER.match(written):
                return Refusal("The threads of a block work together here, in a number that the code relies on.", line)
            if function is not kernel and written in BUILT_IN:
                return Refusal(f"{function.name}, which the kernel calls, asks for the index of its thread.", line)
        if Names(file, function).shared:
            return Refusal("The kernel keeps an array in shared memory.", function.name_node.start_point.row)
    used = {file.source.content(one): one for one in of_type(kernel.body, "identifier")}
    for macro in macros_with(file, BUILT_IN):
        if macro in used:
            return Refusal(f"The macro {macro} hides the index of a thread.", used[macro].start_point.row)
    return None


def macros_with(file: File, words: tuple[str, ...]) -> Iterator[str]:
    """The macros of a file that stand for something with one of these words in it."""
    for node in file.macro_nodes:
        macro, value = field(node, "name"), field(node, "value")
        if macro is not None and value is not None and set(words) & set(re.findall(r"\w+", file.source.content(value))):
            yield file.source.content(macro)


def jumping_macro(file: File, kernel: Function) -> Node | None:
    """Where a kernel uses a macro that leaves a loop or the kernel, so that the place does not show it."""
    jumping = set(macros_with(file, ("return", "break", "continue", "goto")))
    return next((one for one in of_type(kernel.body, "identifier") if file.source.content(one) in jumping), None)


def called(file: File, kernel: Function) -> tuple[Function, ...]:
    """The functions of the file that a kernel calls, and that those call."""
    found, waiting = list[Function](), [kernel]
    while waiting:
        used = {file.source.content(one) for one in of_type(waiting.pop().body, "identifier", "field_identifier")}
        more = [one for one in file.functions if one.name in used and one not in found and one is not kernel]
        found += more
        waiting += more
    return tuple(found)


def tied(names: Names, found: Elementwise, axes: tuple[str, ...] = ("x", "y", "z")) -> Refusal | None:
    """What in the kernel depends on each thread having one element along these axes."""
    places = {f"{name}.{axis}" for name in BUILT_IN for axis in axes}
    content, inner = names.file.source.content, declared_in(names, found.body)
    for statement in found.body:
        for node in walk(statement):
            if node.type in _LEAVES:
                return Refusal("A thread may leave the kernel before its element is done.", node.start_point.row)
            if node.type == "field_expression" and content(node) in places:
                return Refusal(f"The kernel uses {content(node)} besides its index.", node.start_point.row)
            kept = kept_name(names, node)
            if kept and kept not in inner:
                return Refusal(f"{kept} is changed under the guard, but declared ahead of it.", node.start_point.row)
    made = set[str]()
    hidden = set(macros_with(names.file, (found.index,)))
    for one in found.setup:
        for declared in of_type(one, "init_declarator"):
            target, value = field(declared, "declarator"), field(declared, "value")
            is_own = found.axis is not None and one == found.axis.declaration
            if target is None or value is None or (is_own and content(target) == found.index):
                continue
            behind = names.behind(value)
            if found.index in behind or behind & places:
                made.add(content(target))
    for statement in found.body:
        for node in of_type(statement, "identifier"):
            if content(node) in made:
                return Refusal(
                    f"{content(node)} is made of the thread's index ahead of the guard.", node.start_point.row
                )
            if content(node) == found.index and _is_changed(node):
                return Refusal(f"{found.index} is changed on the way.", node.start_point.row)
            if content(node) in hidden:
                return Refusal(f"The macro {content(node)} hides the index.", node.start_point.row)
    return None


def _is_changed(node: Node) -> bool:
    parent = node.parent
    if parent is None:
        return False
    declares = parent.type in ("init_declarator", "declaration") and field(parent, "declarator") == node
    writes = parent.type == "assignment_expression" and field(parent, "left") == node
    return declares or writes or parent.type in ("update_expression", "pointer_expression")


def declared_in(names: Names, statements: tuple[Node, ...]) -> frozenset[str]:
    """The locals that are declared in some statements: new each time that these are run."""
    content = names.file.source.content
    found_names = set[str]()
    for statement in statements:
        for declaration in of_type(statement, "declaration"):
            for one in declaration.named_children:
                inner: Node | None = one
                while inner is not None and inner.type != "identifier":
                    inner = field(inner, "declarator") or (
                        inner.named_children[0] if inner.type == "reference_declarator" else None
                    )
                if inner is not None:
                    found_names.add(content(inner))
    return frozenset(found_names)


def kept_name(names: Names, node: Node) -> str:
    """The name of the local or parameter that a node changes, "" for none."""
    target = None
    if node.type == "assignment_expression":
        target = field(node, "left")
    elif node.type == "update_expression" or (node.type == "pointer_expression" and node.children[0].type == "&"):
        target = field(node, "argument")
    through = False
    while target is not None and target.type in (
        "field_expression",
        "parenthesized_expression",
        "subscript_expression",
    ):
        through = through or target.type == "subscript_expression"
        target = field(target, "argument") or next(iter(target.named_children), None)
    if target is None or target.type != "identifier":
        return ""
    name = names.file.source.content(target)
    return "" if through and name not in names.arrays else name
