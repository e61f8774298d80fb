"""What an exchange took where nobody counts it."""

import math

from kernelwright.values import Conversation, Usage

_TOKEN = 4  # characters


def estimated(conversation: Conversation, text: str, seconds: float = 0.0) -> Usage:
    """One call without a price: its tokens by the lengths of the texts."""
    asked = sum(len(message.text) for message in conversation)
    return Usage(1, math.ceil(asked / _TOKEN), math.ceil(len(text) / _TOKEN), seconds=seconds)
