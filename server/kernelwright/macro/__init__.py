"""Kernel -> ranked Actions: what could be done next, and what is worth doing."""
