"""A Nest as text that a person keeps: Triton kernels with their launchers. Pure."""
