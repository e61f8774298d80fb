"""Runs inside a Python process of the user's: notes how the kernels of some files are called, as workload lines.

`site/sitecustomize.py` begins it; `recorder.py` sees the calls; `written.py` writes them. Nothing here changes what runs,
but where there is no GPU the CPU stands in for one.
"""
