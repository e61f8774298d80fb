"""Edits -> Verdict and Measurement: the jobs that workers do, and the server's side of the workers."""
