"""Whose kernels did the work of a call: hand-written ones, torch.compile's, or a library's. `share` is the way in."""
