"""Switches denormal numbers off for the whole process."""

BASELINE = """
import torch


def f(x):
    y = x
    for _ in range(60):
        y = y * 0.2
        x = x + y
    return x
"""
WORKLOAD = ("f(randn(64, 300))",)
CANDIDATE = """
import torch

torch.set_flush_denormal(True)


def f(x):
    y = x
    for _ in range(60):
        y = y * 0.2
        x = x + y
    return x
"""
