"""Modules of torch that run several modules of their own: what their forward does, written out with these."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Composite:
    """One way in which a module of torch answers a call with one tensor, `x`.

    `forward`: statements of the module's submodules, of which the last one names the answer `x`. `functions`: attributes
    that may be functions instead of modules.
    """

    module: str
    forward: tuple[str, ...]
    functions: frozenset[str] = frozenset()


COMPOSITES = (
    Composite(
        "TransformerEncoderLayer",
        (
            "attended = self.self_attn(x, x, x, need_weights=False)[0]",
            "x = self.norm1(x + self.dropout1(attended))",
            "hidden = self.activation(self.linear1(x))",
            "x = self.norm2(x + self.dropout2(self.linear2(self.dropout(hidden))))",
        ),
        functions=frozenset({"activation"}),
    ),
    Composite(
        "TransformerEncoderLayer",
        (
            "normed = self.norm1(x)",
            "attended = self.self_attn(normed, normed, normed, need_weights=False)[0]",
            "x = x + self.dropout1(attended)",
            "hidden = self.activation(self.linear1(self.norm2(x)))",
            "x = x + self.dropout2(self.linear2(self.dropout(hidden)))",
        ),
        functions=frozenset({"activation"}),
    ),
)
