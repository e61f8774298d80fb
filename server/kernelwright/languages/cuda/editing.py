"""Which definitions of a CUDA file an edit from outside may change, and what it may add and use."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from kernelwright.languages.cuda.workloads import lines_in
from kernelwright.languages.editing import added_pieces
from kernelwright.languages.support import Piece
from kernelwright.source.cuda import File, read
from kernelwright.source.cuda.kernels import MAIN
from kernelwright.source.cuda.text import of_type
from kernelwright.values import Kernel, Refusal

ALLOWED_HEADERS = (
    *("cuda_runtime.h", "cuda_fp16.h", "cuda_bf16.h", "cuda_fp8.h", "mma.h", "cooperative_groups.h", "cuda_pipeline.h"),
    *("cooperative_groups/reduce.h", "cooperative_groups/memcpy_async.h", "cuda/pipeline", "cuda/barrier"),
    *("cmath", "cfloat", "climits", "cstdint", "math_constants.h", "math.h", "float.h", "limits.h", "stdint.h"),
)

# What begins with one of these is refused, for the reason beside it.
_REFUSED = (
    (r"system|popen|fork|execv\w*|execl\w*|posix_spawn\w*", "starts processes"),
    (r"f?open|fopen64|freopen|creat|unlink|remove|rename|mmap|ifstream|ofstream|fstream", "uses files"),
    (r"socket|connect|bind|listen|getaddrinfo", "uses the network"),
    (r"dlopen|dlsym|LoadLibrary\w*", "loads other code"),
    (r"clock|clock64|gettimeofday|clock_gettime|chrono|cudaEvent\w+|__nanosleep", "touches timers"),
    (r"cudaStreamCreate\w*|cudaStreamBeginCapture\w*|cudaLaunchHostFunc", "leaves the caller's stream"),
    (r"cudaSetDevice|cudaDeviceReset|cudaDeviceSetLimit|cudaDeviceSetCacheConfig", "changes the caller's device"),
    (r"getenv|setenv|putenv|signal|ptrace|exit|_exit|abort", "reaches beyond the kernel"),
)
_PRINTS = re.compile(r"\b(?:v?f?printf|f?puts|f?putc(?:har)?|fwrite|write|cout|clog|print(?:ln)?)\b")
_WORDS = re.compile(r"[A-Za-z_]\w*")
_INCLUDE = re.compile(r"[<\"]([^<>\"]*)[>\"]")
_ADDABLE = (
    *("preproc_include", "preproc_def", "preproc_function_def", "using_declaration", "alias_declaration", "comment"),
    *("function_definition", "template_declaration", "declaration", "struct_specifier", "type_definition"),
    *("namespace_alias_definition", "linkage_specification"),
)


def pieces(text: str, kernel: Kernel) -> tuple[Piece, ...]:
    """The definitions at top level and the comments between them, in order.

    Editable are the kernel, its entry, the functions that launch it, and the other kernels that these launch; the kernel
    alone where a workload line launches it itself, so that the others are not looked at by the gate.
    """
    file, launchers = read(text), {kernel.entry, *(launch.function for launch in kernel.launches)}
    if kernel.entry == kernel.name:
        launchers = {kernel.name}
    beside = {launch.kernel for launch in file.launches if launch.function.name in launchers}
    return tuple(_pieces(file, frozenset(name for name in {kernel.name, *launchers, *beside} if name)))


def edit_problem(before: str, after: str, kernel: Kernel) -> Refusal | None:
    """Why an edit from outside may not be tried, in one sentence: `before` and `after` are whole texts that parse."""
    file = read(after)
    needed = frozenset(name for name in (kernel.name, kernel.entry) if name)
    added = added_pieces(pieces(before, kernel), tuple(_pieces(file, frozenset())), needed)
    if isinstance(added, Refusal):
        return added
    starts = {node.start_point.row: node for node in file.source.tree.root_node.named_children}
    known = {one.name for one in read(before).functions}
    for piece in added:
        node = starts.get(piece.start_line)
        if node is not None and node.type not in _ADDABLE:
            return Refusal(
                f"`{piece.first_line}` is no include, helper or constant, so it may not be added to the file."
            )
        if piece.name in known:
            return Refusal(f"`{piece.first_line}` gives the name `{piece.name}` another meaning; choose a new name.")
    if kernel.entry == kernel.name and _takes(before, kernel.name) != _takes(after, kernel.name):
        return Refusal(
            f"The parameters of `{kernel.name}` must stay as they are: who else launches it is not looked at."
        )
    if kernel.entry == MAIN and _prints(before) != _prints(after):
        return Refusal("The statements that print must stay as they are: what the program prints is compared.")
    if [case.text for case in lines_in(before)] != [case.text for case in lines_in(after)]:
        return Refusal("The workload lines must stay as they are: the kernel is judged on them.")
    return _forbidden(before, after)


def _prints(text: str) -> list[str]:
    """The statements that print, in order and with single blanks."""
    file = read(text)
    found = (file.source.content(node) for node in of_type(file.source.tree.root_node, "expression_statement"))
    return [" ".join(one.split()) for one in found if _PRINTS.search(one)]


def _takes(text: str, kernel: str) -> list[tuple[str, str, int]]:
    function = read(text).kernel(kernel)
    return [(one.name, one.base, one.pointers) for one in function.parameters] if function is not None else []


def _forbidden(before: str, after: str) -> Refusal | None:
    old, new = read(before), read(after)
    for header in sorted(set(_headers(new)) - set(_headers(old)) - set(ALLOWED_HEADERS)):
        return Refusal(
            f"The header <{header}> is not allowed in a kernel's code; allowed are {', '.join(ALLOWED_HEADERS)}."
        )
    known = set(_WORDS.findall(before))
    for word in dict.fromkeys(_identifiers(new)):
        why = next((why for pattern, why in _REFUSED if re.fullmatch(pattern, word)), None)
        if why is not None and word not in known:
            return Refusal(f"`{word}` {why}, which is not allowed.")
    return None


def _headers(file: File) -> Iterator[str]:
    for node in of_type(file.source.tree.root_node, "preproc_include"):
        yield from _INCLUDE.findall(file.source.content(node))


def _identifiers(file: File) -> Iterator[str]:
    """The names that code uses; macros are not read as code, so all of their words count."""
    for node in of_type(
        file.source.tree.root_node, "identifier", "type_identifier", "namespace_identifier", "preproc_arg"
    ):
        yield from _WORDS.findall(file.source.content(node))


def _pieces(file: File, editable: frozenset[str]) -> Iterator[Piece]:
    """Nodes that share a line are one piece."""
    lines = file.source.text.splitlines(keepends=True)
    names = {one.outer.start_byte: one.name for one in file.functions}
    end = 0
    for node in file.source.tree.root_node.named_children:
        first, last = node.start_point.row, _last_row(node) + 1
        if first < end:
            continue
        name = names.get(node.start_byte) or _inner_name(file, node)
        code = "".join(lines[first:last])
        is_comment = node.type == "comment"
        yield Piece("" if is_comment else name or code, first, last, code, name in editable, is_comment)
        end = last


def _inner_name(file: File, node: Node) -> str:
    """The one function in `extern "C"` or a namespace."""
    inner = [
        one for one in file.functions if node.start_byte <= one.node.start_byte and one.node.end_byte <= node.end_byte
    ]
    return inner[0].name if len(inner) == 1 else ""


def _last_row(node: Node) -> int:
    """The last line of a node; the break that ends a preprocessor line is not on the next one."""
    return node.end_point.row - (node.end_point.column == 0 and node.end_point.row > node.start_point.row)
