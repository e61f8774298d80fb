"""Runs in another process, in the interpreter that the user chose: standard library, numpy, torch and triton only."""
