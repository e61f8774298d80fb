"""Faults for CUDA C++, planted in what the strategies make of their examples."""

from benchmarks.mutants.cuda.operators import OPERATORS
from benchmarks.mutants.cuda.syntax import read

__all__ = ["OPERATORS", "read"]
