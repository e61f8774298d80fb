"""Says what of a CUDA text only a GPU can run: the emulator has nothing that stands for it. Pure."""

import re

from kernelwright.source.cpp import Kind, functions_of, tokens_of

_WORDS = {
    **dict.fromkeys(("asm", "__asm__", "__asm"), "inline PTX"),
    **dict.fromkeys(("__pipeline_memcpy_async", "memcpy_async", "cuda_pipeline", "pipeline"), "an asynchronous copy"),
    **dict.fromkeys(("texture", "tex1Dfetch", "tex1D", "tex2D", "tex2DLod", "tex3D", "tex3DLod"), "a texture"),
    "cudaCreateTextureObject": "a texture",
    **dict.fromkeys(("cudaCreateSurfaceObject", "surface", "surf2Dread", "surf2Dwrite"), "a surface"),
    **dict.fromkeys(("__cluster_dims__", "this_cluster", "cluster_group"), "a cluster of blocks"),
    **dict.fromkeys(("cudaLaunchCooperativeKernel", "this_grid", "grid_group"), "a barrier over the whole grid"),
    **dict.fromkeys(("CUtensorMap", "cuTensorMapEncodeTiled"), "a tensor map"),
    **dict.fromkeys(("cudaGraph_t", "cudaGraphExec_t"), "a CUDA graph"),
    "bmma_sync": "wmma of single bits",
    "cudaLaunchKernelExC": "cudaLaunchKernelExC",
}
_NAMESPACES = {
    "experimental": "wmma of less than eight bits",
    **{name: name for name in ("thrust", "cub", "cutlass", "cute")},
    **dict.fromkeys(("torch", "at", "c10"), "torch's C++ interface"),
    "cuda": "libcu++",
}
_PREFIXES = re.compile(r"(cudnn|cufft|curand|cusparse|cusolver|nccl)[A-Z_]\w*|(cublas)\w*|(__nv_fp8)\w*")
LIBRARY_HEADERS = re.compile(
    r"(?:thrust|cub|cutlass|cute|cuda|nvtx3|torch|ATen|c10|pybind11|GL)/"
    r"|(?:cudnn|cufft|curand|cusparse|cusolver|nccl|nvToolsExt|cuda_pipeline|cuda_gl|cudaGL|cuda_fp[46])\w*\.h"
    r"|cooperative_groups/memcpy_async\.h"
)
"""Headers that the emulator has nothing for. A text that uses none of their names is compiled without them."""
LIBRARY_INCLUDE = re.compile(rf"^[ \t]*#[ \t]*include[ \t]*[<\"](?:{LIBRARY_HEADERS.pattern})", re.M)


def unsupported(text: str) -> tuple[str, int] | None:
    """What it is, and its line from 0; None where the emulator may run the text."""
    tokens = tokens_of(text)
    words = {token.text for token in tokens if token.kind is Kind.WORD}
    defined_here = {match[1] for token in tokens if (match := re.match(r"#\s*define\s+(\w+)", token.text))}
    hidden = 0
    for index, token in enumerate(tokens):
        behind = tokens[index + 1].text if index + 1 < len(tokens) else ""
        if token.kind is Kind.DIRECTIVE:
            hidden = _hidden(token.text, hidden, defined_here)
        if hidden:
            continue
        if token.kind is Kind.DIRECTIVE:
            defined = re.match(r"#\s*define\s+(\w+)", token.text)
            if defined is not None and defined[1] in words and re.search(r"\b(?:asm|__asm__)\b", token.text):
                return _WORDS["asm"], token.line
        elif token.kind is Kind.WORD and (found := _of_word(token.text, behind)) is not None:
            return found, token.line
    device = [one.tokens for one in functions_of(text) if one.on_device and not one.on_host]
    for index, token in enumerate(tokens):
        if token.text == "<<<" and any(opens < index < closes for opens, closes in device):
            return "a launch within a kernel", token.line
    return None


def _hidden(directive: str, depth: int, defined: set[str]) -> int:
    """How deep in what is left out unless a build defines a name the text behind the directive lies."""
    kind = re.match(r"#\s*(ifdef|if\s+defined)?\s*(\w*)[ \t(]*(\w*)\W*$", directive)
    if depth:
        if re.match(r"#\s*if", directive):
            return depth + 1
        ends = re.match(r"#\s*endif", directive) or (depth == 1 and re.match(r"#\s*el", directive))
        return depth - 1 if ends else depth
    if kind is None or kind[1] is None:
        return 0
    name = kind[3] or kind[2]
    return int(not name.startswith("__") and name not in defined)


def _of_word(word: str, behind: str) -> str | None:
    if behind == "::":
        return _NAMESPACES.get(word)
    library = _PREFIXES.fullmatch(word)
    if library is not None and (library[2] is None or behind == "("):
        return library[1] or library[2] or "an eight-bit float"
    return _WORDS.get(word)
