"""Telling tensor maths from what merely surrounds it: making tensors, settings, timing, printing."""

from tree_sitter import Node

from kernelwright.ops import Kind, canonical_name, of_kind
from kernelwright.source.document import Document
from kernelwright.source.imports import Aliases, dotted
from kernelwright.source.syntax import field


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Names under torch that compute nothing from a tensor.
_NOT_MATHS = of_kind(Kind.CREATION) | words(
    "manual_seed seed initial_seed set_default_device set_default_dtype set_float32_matmul_precision set_num_threads "
    "set_printoptions set_grad_enabled get_default_dtype get_num_threads device dtype Generator Tensor Size finfo iinfo "
    "load save compile no_grad inference_mode enable_grad autocast is_tensor is_floating_point is_grad_enabled numel "
    "is_autocast_enabled is_inference_mode_enabled get_rng_state set_rng_state "
    "allclose equal isclose typename from_numpy as_tensor sparse_coo_tensor Event Stream"
)
_NOT_MATHS_ROOTS = (
    "torch.cuda", "torch.backends", "torch.testing", "torch.utils", "torch.jit", "torch.distributed", "torch.profiler",
    "torch.optim", "torch.library", "torch.autograd", "torch.random", "torch.compiler", "torch.version", "torch.hub",
    "torch.multiprocessing", "torch.nn.init", "torch.nn.utils", "torch.nn.parallel", "torch.xpu", "torch.mps",
)  # fmt: skip

REDUCTIONS = of_kind(Kind.REDUCTION, Kind.SCAN, Kind.NORMALISATION, Kind.LOSS)
MATMULS = of_kind(Kind.PRODUCT, Kind.CONVOLUTION, Kind.ATTENTION)
_OTHERS = ("math", "np", "numpy", "tl", "self", "operator")  # whose functions have the names of tensor methods
_METHODS = REDUCTIONS | MATMULS | of_kind(Kind.POINTWISE, Kind.GATHER)


def torch_operation(document: Document, call: Node, aliases: Aliases) -> str | None:
    """The plain name of the tensor operation that a call makes ("softmax"), None when it is not known to be one.

    Covers torch.*, torch.nn.functional.* and methods whose name only tensors have.
    """
    function = call.child_by_field_name("function")
    if function is None:
        return None
    name = dotted(document, function, aliases)
    if name is not None:
        return _operation(name)
    if function.type != "attribute":
        return None
    attribute, value = function.child_by_field_name("attribute"), function.child_by_field_name("object")
    if attribute is None or value is None or dotted(document, value, aliases) is not None:
        return None
    method = document.content(attribute)
    if canonical_name(method)[0] not in _METHODS or document.content(value) in _OTHERS:
        return None
    return method


def has_tensor_maths(document: Document, function: Node, aliases: Aliases) -> bool:
    """Whether a function computes on tensors: operations of torch, or arithmetic on a parameter annotated Tensor."""
    parameters, body = function.child_by_field_name("parameters"), field(function, "body")
    if parameters is None or body is None or not parameters.named_children:
        return False
    annotated = "Tensor" in document.content(parameters)
    stack = [body]
    while stack:
        node = stack.pop()
        if node.type == "call" and torch_operation(document, node, aliases):
            return True
        if node.type == "binary_operator":
            operator = node.child_by_field_name("operator")
            if annotated or (operator is not None and operator.type == "@"):
                return True
        if node.type not in ("string", "comment"):
            stack.extend(node.named_children)
    return False


def _operation(name: str) -> str | None:
    if not name.startswith("torch.") or name.startswith(tuple(root + "." for root in _NOT_MATHS_ROOTS)):
        return None
    last = name.rpartition(".")[2]
    if last in _NOT_MATHS or name in _NOT_MATHS_ROOTS:
        return None
    if name.startswith("torch.nn.") and not name.startswith("torch.nn.functional."):
        return None
    return last if last[:1].islower() else None
