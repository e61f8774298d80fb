"""float16 in and out, sums in float32."""

BASELINE = """
import torch


def f(a, b):
    return a @ b
"""
WORKLOAD = ("f(randn(32, 300, dtype=float16), randn(300, 24, dtype=float16))",)
CANDIDATE = """
import torch


def f(a, b):
    return (a.float() @ b.float()).half()
"""
