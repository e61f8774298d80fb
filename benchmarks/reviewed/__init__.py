"""Rewrites that reviewers of the gate wrote by hand, with its source before them: the cases of corpus/reviewed.

`wrong`: other answers than the baseline's. `unreal`: faster only on the clock. `honest`: to be accepted.
"""
