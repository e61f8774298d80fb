"""Kernel attribution: which kernels did the work of a call, in a verdict (`share`) and in a profile (`profile`)."""
