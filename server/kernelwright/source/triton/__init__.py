"""Triton kernels read from Python's own syntax trees: one reader for findings and rewrites."""
