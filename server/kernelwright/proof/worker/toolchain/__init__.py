"""What makes libraries of CUDA C++, and finds errors in it: compilers, and the emulator that they compile a text with.

Standard library only, so that a text is compiled while it is typed without the seconds that PyTorch takes to import.
"""
