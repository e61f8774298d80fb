"""All kinds of mistakes that are planted in CUDA C++."""

from benchmarks.mutants.cuda import arithmetic, bounds, memory, threads

OPERATORS = (*threads.OPERATORS, *memory.OPERATORS, *bounds.OPERATORS, *arithmetic.OPERATORS)
