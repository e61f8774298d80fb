"""Why a region has no Nest."""

from kernelwright.values import Node, Refusal


class NotExpressible(Exception):
    """The region cannot be written as a Nest; the message is for the user."""

    def __init__(self, reason: str, node: Node | None = None) -> None:
        super().__init__(reason)
        self.line = node.where.start_line if node and node.where else None

    @property
    def refusal(self) -> Refusal:
        return Refusal(str(self), self.line)
