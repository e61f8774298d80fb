"""CUDA C++ read by tokens, with the standard library alone, so that the worker may read it as well."""

from kernelwright.source.cpp.signatures import Function, Parameter, functions_of
from kernelwright.source.cpp.structures import Field, structures_of
from kernelwright.source.cpp.tokens import Kind, Token, tokens_of

__all__ = ["Field", "Function", "Kind", "Parameter", "Token", "functions_of", "structures_of", "tokens_of"]
