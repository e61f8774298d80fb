"""Names of PyTorch by what they tell of a value: a tensor, or something in Python."""

from kernelwright.source.tensors import words

# Calls below torch and tensor methods whose answer is a Python value.
NOT_TENSORS = words(
    "torch.is_tensor torch.numel torch.is_grad_enabled torch.finfo torch.iinfo torch.device torch.dtype "
    "torch.Size torch.is_floating_point torch.is_complex torch.get_default_dtype torch.equal torch.allclose "
    "torch.is_inference_mode_enabled torch.is_autocast_enabled torch.get_autocast_dtype torch.no_grad "
    "torch.inference_mode torch.Generator torch.broadcast_shapes torch.result_type torch.promote_types"
)
NOT_TENSOR_MODULES = tuple(
    f"torch.{name}."
    for name in [
        "cuda",
        "backends",
        "jit",
        "compiler",
        "distributed",
        "utils",
        "version",
        "autograd",
        "amp",
        "overrides",
    ]
)
PLAIN_METHODS = words(
    "size dim ndimension numel nelement stride item tolist numpy data_ptr is_contiguous element_size get_device "
    "is_floating_point is_complex storage_offset type equal allclose split chunk unbind untyped_storage storage "
    "register_hook backward is_signed is_set_to"
)

# Attributes of a tensor that are tensors, and those whose use tells that a parameter is one.
TENSOR_ATTRIBUTES = words("T mT H mH data grad real imag")
TENSOR_USES = words(
    "shape dtype device ndim size dim view reshape permute transpose contiguous numel unsqueeze squeeze mean sum "
    "softmax float half flatten masked_fill stride detach T mT requires_grad is_cuda"
)
TENSOR_TYPES = words("torch.Tensor torch.FloatTensor torch.LongTensor torch.BoolTensor")

TURNING = words("t T mT transpose permute movedim swapaxes as_strided empty_strided")
"""Give a tensor whose dimensions lie in memory in another order."""
