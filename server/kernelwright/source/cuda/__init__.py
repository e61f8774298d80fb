"""CUDA C++ texts, read by tree-sitter: kernels, launches, index expressions. Nothing is compiled."""

from kernelwright.source.cuda.definitions import File, Function, Launch, Parameter, read
from kernelwright.source.cuda.text import Source, parse

__all__ = ["File", "Function", "Launch", "Parameter", "Source", "parse", "read"]
