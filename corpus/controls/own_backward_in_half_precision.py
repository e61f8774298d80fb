"""Products in bfloat16 with a relu between them: some of its inputs are so near zero that rounding decides."""
# workload: f(randn(64, 80, dtype=bfloat16, requires_grad=True), randn(80, 96, dtype=bfloat16, requires_grad=True), randn(96, 32, dtype=bfloat16, requires_grad=True))
# expected: passed

# %% baseline
import torch


def f(x, w, v):
    return torch.relu(x @ w) @ v

# %% candidate
import torch


class Products(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, v):
        h = torch.relu(x.float() @ w.float())
        ctx.save_for_backward(x, w, v, h)
        return (h @ v.float()).to(x.dtype)

    @staticmethod
    def backward(ctx, gradient):
        x, w, v, h = ctx.saved_tensors
        g = gradient.float()
        inner = (g @ v.float().t()) * (h > 0)
        gradients = inner @ w.float().t(), x.float().t() @ inner, h.t() @ g
        return tuple(one.to(x.dtype) for one in gradients)


def f(x, w, v):
    return Products.apply(x, w, v)
