"""What a language model is asked: templates in this package, filled from values. The same values give the same bytes."""

from kernelwright.prompting.action import action_prompt, repaired

VERSION = "1"
"""Counts up with every change of a template, so that results name what they were made with."""

__all__ = ["VERSION", "action_prompt", "repaired"]
