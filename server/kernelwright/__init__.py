"""Kernelwright optimises GPU kernels while people edit them: one strategy at a time, verified, then measured."""

__version__ = "0.1.0"
