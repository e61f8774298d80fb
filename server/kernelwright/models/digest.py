"""The short name of a conversation: in the names of files, and in logs that are replayed."""

import hashlib
import json

from kernelwright.values import Conversation


def digest(conversation: Conversation) -> str:
    """Return 12 hex digits that follow from the roles and texts alone."""
    said = json.dumps([(message.role.value, message.text) for message in conversation])
    return hashlib.sha256(said.encode("ascii")).hexdigest()[:12]
