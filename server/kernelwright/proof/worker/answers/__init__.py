"""What a candidate returned, held against what is right: pure functions on tensors.

`judge` is the verdict on one call; `tolerance` holds every threshold of a comparison of values, with its reason.
"""
