"""Says what of a CUDA text only a GPU can run: the emulator has nothing that stands for it. Pure."""

import re

from kernelwright.source.cpp import Kind, functions_of, tokens_of

_WORDS = {
    **dict.fromkeys(("asm", "__asm__", "__asm"), "inline PTX"),
    **dict.fromkeys(("wmma", "nvcuda", "mma"), "wmma"),
    **dict.fromkeys(("__pipeline_memcpy_async", "memcpy_async", "cuda_pipeline", "pipeline"), "an asynchronous copy"),
    **dict.fromkeys(("texture", "cudaTextureObject_t", "tex1Dfetch", "tex1D", "tex2D", "tex3D"), "a texture"),
    **dict.fromkeys(("surface", "cudaSurfaceObject_t", "surf2Dread", "surf2Dwrite"), "a surface"),
    **dict.fromkeys(("__cluster_dims__", "this_cluster", "cluster_group"), "a cluster of blocks"),
    **dict.fromkeys(("cudaLaunchCooperativeKernel", "this_grid", "grid_group"), "a barrier over the whole grid"),
    **dict.fromkeys(("CUtensorMap", "cuTensorMapEncodeTiled"), "a tensor map"),
    **dict.fromkeys(("cudaGraph_t", "cudaGraphExec_t"), "a CUDA graph"),
    **dict.fromkeys(("cudaLaunchKernelEx", "cudaLaunchKernelExC"), "cudaLaunchKernelEx"),
    "thrust": "thrust",
    "cub": "cub",
    "cutlass": "cutlass",
    "cute": "cute",
}
_NAMESPACES = frozenset(("thrust", "cub", "cutlass", "cute", "wmma", "nvcuda", "mma"))
_INCLUDES = (
    (r"(?:crt/)?mma\.h", "wmma"),
    (r"thrust/", "thrust"),
    (r"cub/", "cub"),
    (r"cutlass/", "cutlass"),
    (r"cute/", "cute"),
    (r"cublas\w*\.h", "cublas"),
    (r"cudnn\w*\.h", "cudnn"),
    (r"cufft\w*\.h", "cufft"),
    (r"curand\w*\.h", "curand"),
    (r"cusparse\w*\.h", "cusparse"),
    (r"cuda_pipeline\w*\.h|cooperative_groups/memcpy_async\.h", "an asynchronous copy"),
    (r"cuda/\w+", "libcu++"),
    (r"(?:torch|ATen|c10)/", "torch's C++ interface"),
    (r"cuda_fp8\.h", "an eight-bit float"),
)
_INCLUDE = re.compile(r"#\s*include\s*[<\"]([^>\"]*)")


def unsupported(text: str) -> tuple[str, int] | None:
    """What it is, and its line from 0; None where the emulator may run the text."""
    tokens = tokens_of(text)
    for index, token in enumerate(tokens):
        if token.kind is Kind.DIRECTIVE:
            included = _INCLUDE.match(token.text)
            for pattern, what in _INCLUDES if included else ():
                if included is not None and re.match(pattern, included[1]):
                    return what, token.line
            words = re.findall(r"\w+", token.text) if not included else []
            found = next((word for word in words if word in ("asm", "__asm__")), None)
            if found is not None:
                return _WORDS[found], token.line
        elif token.kind is Kind.WORD and (what_ := _WORDS.get(token.text)) is not None:
            behind = tokens[index + 1].text if index + 1 < len(tokens) else ""
            if token.text not in _NAMESPACES or behind == "::":
                return what_, token.line
    device = [one.tokens for one in functions_of(text) if one.on_device and not one.on_host]
    for index, token in enumerate(tokens):
        if token.text == "<<<" and any(opens < index < closes for opens, closes in device):
            return "a launch within a kernel", token.line
    return None
