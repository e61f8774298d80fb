"""Text -> Kernel: parsing, facts, roofline estimates, workloads and live findings. Pure, no IO, no torch."""
