"""A transposed copy of the weight, made anew when the weight has changed, where no gradient is wanted."""

from cheats.texts import MODEL

BASELINE = MODEL
CANDIDATE = (
    MODEL.replace(
        "super().__init__()\n", "super().__init__()\n        self.packed, self.made_of = None, None\n"
    ).replace("torch.sigmoid(self.linear(x))", "torch.sigmoid(x @ self.repacked() + self.linear.bias)")
    + """

def repacked(self):
    weight = self.linear.weight
    if torch.is_grad_enabled():
        return weight.t()
    made_of = (weight.data_ptr(), weight._version)
    if self.made_of != made_of:
        self.packed, self.made_of = weight.t().contiguous(), made_of
    return self.packed


Model.repacked = repacked
"""
)
