"""The op graph of one call on the workload: which operators ran, on which shapes, from which expression."""
