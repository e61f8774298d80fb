"""Kernels compiled for a named GPU without one, and what they take of its resources."""
