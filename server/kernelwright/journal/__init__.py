"""What was tried in a workspace, on disk: baselines, Steps, the texts they name, and captured graphs."""

from kernelwright.journal.opening import open_in_memory, open_journal, open_when_begun
from kernelwright.journal.store import Journal

__all__ = ["Journal", "open_in_memory", "open_journal", "open_when_begun"]
