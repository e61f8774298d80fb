"""Inputs that require grad, and a backward that computes again what the forward pass did not keep."""
# workload: f(randn(40, 48, requires_grad=True), randn(36, 48, requires_grad=True), randn(36))
# expected: passed

# %% baseline
import torch
import torch.nn.functional as F


def f(x, w, b):
    return F.gelu(F.linear(x, w, b)).softmax(dim=1)

# %% candidate
import torch
import torch.nn.functional as F


class Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w, b):
        ctx.save_for_backward(x, w, b)
        return F.gelu(F.linear(x, w, b)).softmax(dim=1)

    @staticmethod
    def backward(ctx, gradient):
        x, w, b = ctx.saved_tensors
        before = F.linear(x, w, b)
        p = F.gelu(before).softmax(dim=1)
        g = p * (gradient - (gradient * p).sum(dim=1, keepdim=True))
        density = torch.exp(-before * before / 2) * 0.3989422804014327
        g = g * (0.5 * (1 + torch.erf(before * 0.7071067811865476)) + before * density)
        return g @ w, g.t() @ x, None


def f(x, w, b):
    return Fused.apply(x, w, b)
