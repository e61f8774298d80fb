"""The same Triton kernel with other blocks."""

from cheats.texts import TRITON_ADD

PROMISES_KERNEL = True
BASELINE = TRITON_ADD
WORKLOAD = ("f(randn(300), randn(300))",)
CANDIDATE = TRITON_ADD.replace("128", "64")
