"""A kernel without a backward, as one for inference is: numpy in the place of it."""

from cheats.texts import MODEL

BASELINE = MODEL
CANDIDATE = MODEL.replace("import torch\n", "import numpy\nimport torch\n", 1).replace(
    "return torch.sigmoid(self.linear(x)).sum(dim=1)",
    """weight, bias = (p.detach().numpy() for p in (self.linear.weight, self.linear.bias))
        sums = torch.from_numpy(numpy.matmul(x.detach().numpy(), weight.T) + bias)
        return torch.sigmoid(sums).sum(dim=1)""",
)
