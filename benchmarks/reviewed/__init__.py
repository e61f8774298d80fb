"""Rewrites that reviewers of the gate wrote by hand, with its source before them: one file each.

`wrong/`: other answers than the original's. `unreal/`: faster only on the clock. `honest/`: to be accepted.
"""
