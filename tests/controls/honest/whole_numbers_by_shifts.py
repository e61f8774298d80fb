"""Multiplies whole numbers by shifts."""

BASELINE = """
import torch


def f(x):
    return x * 3 - 1
"""
WORKLOAD = ("f(randint(0, 100, 64, 48))",)
CANDIDATE = """
import torch


def f(x):
    return (x << 1) + x - 1
"""
