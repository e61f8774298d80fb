"""What indices of CUDA kernels come to for the launches of a workload: terms, and questions to z3 about them."""
