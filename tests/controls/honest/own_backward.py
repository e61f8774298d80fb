"""An autograd.Function with the right backward."""

from cheats.texts import MODEL

BASELINE = MODEL
CANDIDATE = (
    MODEL.replace("self.linear(x)", "Linear.apply(x, self.linear.weight, self.linear.bias)")
    + """

class Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return nn.functional.linear(x, weight, bias)

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        return gradient @ weight, gradient.t() @ x, gradient.sum(dim=0)
"""
)
