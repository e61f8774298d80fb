"""How much the gate catches: faults planted in correct kernels, one at a time, and what the gate says to each."""
