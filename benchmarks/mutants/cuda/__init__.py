"""Faults for CUDA C++, planted in what the strategies make of their examples."""

from benchmarks.mutants.cuda import arithmetic, bounds, memory, threads
from benchmarks.mutants.cuda.syntax import read

__all__ = ["OPERATORS", "read"]

OPERATORS = (*threads.OPERATORS, *memory.OPERATORS, *bounds.OPERATORS, *arithmetic.OPERATORS)
