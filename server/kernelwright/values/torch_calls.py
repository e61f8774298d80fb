"""One name and one signature per meaning for torch calls, however they are spelled: shared by capture and rewriting."""

import ast
import functools

# Parameters in order, with their defaults; `*` ends the operands, which a Node keeps in `args`: the rest go to `kwargs`.
_SIGNATURES = {
    "abs": "input",
    "acos": "input",
    "add": "input other * alpha=1",
    "adaptive_avg_pool1d": "input * output_size",
    "adaptive_avg_pool2d": "input * output_size",
    "adaptive_avg_pool3d": "input * output_size",
    "addcmul": "input tensor1 tensor2 * value=1",
    "addmm": "input mat1 mat2 * beta=1 alpha=1",
    "amax": "input * dim=None keepdim=False",
    "amin": "input * dim=None keepdim=False",
    "argmax": "input * dim=None keepdim=False",
    "argmin": "input * dim=None keepdim=False",
    "atan": "input",
    "batch_norm": "input running_mean running_var weight=None bias=None * training=False momentum=0.1 eps=1e-05",
    "bitwise_and": "input other",
    "bitwise_not": "input",
    "bitwise_or": "input other",
    "bmm": "input mat2",
    "celu": "input * alpha=1.0",
    "clamp": "input min=None max=None",
    "clone": "input",
    "contiguous": "input * memory_format=None",
    "cos": "input",
    "cumsum": "input * dim dtype=None",
    "detach": "input",
    "div": "input other * rounding_mode=None",
    "dropout": "input * p=0.5 training=True",
    "elu": "input * alpha=1.0",
    "eq": "input other",
    "erf": "input",
    "exp": "input",
    "exp2": "input",
    "expm1": "input",
    "flatten": "input * start_dim=0 end_dim=-1",
    "ge": "input other",
    "gelu": "input * approximate='none'",
    "getitem": "input * index",
    "group_norm": "input num_groups weight=None bias=None * eps=1e-05",
    "gt": "input other",
    "hardsigmoid": "input",
    "hardswish": "input",
    "hardtanh": "input min_val=-1.0 max_val=1.0",
    "huber_loss": "input target * reduction='mean' delta=1.0",
    "instance_norm": (
        "input running_mean=None running_var=None weight=None bias=None * use_input_stats=True momentum=0.1 eps=1e-05"
    ),
    "kl_div": "input target * size_average=None reduce=None reduction='mean' log_target=False",
    "layer_norm": "input normalized_shape weight=None bias=None * eps=1e-05",
    "le": "input other",
    "leaky_relu": "input negative_slope=0.01",
    "lerp": "input end weight",
    "linear": "input weight bias=None",
    "log": "input",
    "log1p": "input",
    "log2": "input",
    "log_softmax": "input * dim=None dtype=None",
    "logical_and": "input other",
    "logical_not": "input",
    "logical_or": "input other",
    "logsigmoid": "input",
    "logsumexp": "input * dim keepdim=False",
    "lt": "input other",
    "masked_fill": "input mask value",
    "matmul": "input other",
    "max": "input * dim=None keepdim=False",
    "maximum": "input other",
    "mean": "input * dim=None keepdim=False dtype=None",
    "min": "input * dim=None keepdim=False",
    "minimum": "input other",
    "mish": "input",
    "mm": "input mat2",
    "mse_loss": "input target * size_average=None reduce=None reduction='mean'",
    "mul": "input other",
    "ne": "input other",
    "neg": "input",
    "norm": "input * p='fro' dim=None keepdim=False dtype=None",
    "normalize": "input * p=2.0 dim=1 eps=1e-12",
    "permute": "input * dims",
    "pow": "input exponent",
    "prod": "input * dim=None keepdim=False dtype=None",
    "reciprocal": "input",
    "relu": "input",
    "relu6": "input",
    "reshape": "input * shape",
    "rms_norm": "input normalized_shape weight=None * eps=None",
    "rsqrt": "input",
    "selu": "input",
    "sigmoid": "input",
    "sign": "input",
    "silu": "input",
    "sin": "input",
    "smooth_l1_loss": "input target * size_average=None reduce=None reduction='mean' beta=1.0",
    "softmax": "input * dim=None dtype=None",
    "softmin": "input * dim=None dtype=None",
    "softplus": "input * beta=1.0 threshold=20.0",
    "softsign": "input",
    "sqrt": "input",
    "square": "input",
    "squeeze": "input * dim=None",
    "std": "input * dim=None keepdim=False correction=1",
    "sub": "input other * alpha=1",
    "sum": "input * dim=None keepdim=False dtype=None",
    "t": "input",
    "tanh": "input",
    "tanhshrink": "input",
    "tensor": "data",
    "to": "input * dtype=None",
    "transpose": "input * dim0 dim1",
    "unsqueeze": "input * dim",
    "var": "input * dim=None keepdim=False correction=1",
    "vector_norm": "input * p=2 dim=None keepdim=False dtype=None",
    "view": "input * shape",
    "view_as": "input other",
    "where": "condition input other",
}

_ALIASES = {
    "absolute": "abs",
    "clip": "clamp",
    "concat": "cat",
    "concatenate": "cat",
    "divide": "div",
    "truediv": "div",
    "true_divide": "div",
    "floordiv": "floor_divide",
    "greater": "gt",
    "greater_equal": "ge",
    "invert": "bitwise_not",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "less": "lt",
    "less_equal": "le",
    "mod": "remainder",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "special_expit": "sigmoid",
    "special_logsumexp": "logsumexp",
    "special_log_softmax": "log_softmax",
    "special_softmax": "softmax",
    "sub": "sub",
    "subtract": "sub",
    "swapaxes": "transpose",
    "swapdims": "transpose",
    "T": "t",
    "linalg_norm": "norm",
    "linalg_vector_norm": "vector_norm",
    "view_as_real": "view_as_real",
    "arccos": "acos",
    "log_sigmoid": "logsigmoid",
}

KEYWORDS = {
    "axis": "dim",
    "axes": "dim",
    "keepdims": "keepdim",
    "x": "input",
    "self": "input",
    "ord": "p",
    "divisor": "other",
    "min_value": "min",
    "a_min": "min",
    "a_max": "max",
    "unbiased": "correction",
    "_input": "input",
    "src": "input",
}


@functools.cache
def signature(op: str) -> tuple[tuple[tuple[str, object], ...], int] | None:
    """((name, default), …) and how many of them are operands; a default of `...` means required. None if unknown."""
    if op not in _SIGNATURES:
        return None
    operands, _, options = _SIGNATURES[op].partition(" * ")
    return tuple(_parameter(word) for word in (*operands.split(), *options.split())), len(operands.split())


def _parameter(word: str) -> tuple[str, object]:
    name, equals, default = word.partition("=")
    return name, ast.literal_eval(default) if equals else ...


def canonical_name(raw: str) -> tuple[str, bool, bool]:
    """(name, reflected, in place) for a torch function's own name: "__radd__" is ("add", True, False)."""
    if raw.startswith("__") and raw.endswith("__"):
        name = raw.strip("_")
        if name in _REFLECTED:
            return _canonical(_REFLECTED[name]), True, False
        if name in _IN_PLACE:
            return _canonical(_IN_PLACE[name]), False, True
        return _canonical(name), False, False
    if raw == "rsub":
        return "sub", True, False
    if raw.endswith("_") and not raw.endswith("__") and len(raw) > 2:
        return _canonical(raw.strip("_")), False, True
    return _canonical(raw.lstrip("_") or raw), False, False


def _canonical(name: str) -> str:
    return _ALIASES.get(name, name)


_ARITHMETIC = ("add", "sub", "mul", "truediv", "div", "pow", "matmul", "floordiv", "mod", "and", "or", "xor")
_REFLECTED = {"r" + name: name for name in _ARITHMETIC}
_IN_PLACE = {"i" + name: name for name in _ARITHMETIC} | {"idiv": "div"}
