"""Timing that a candidate cannot fool: `measure` is the way in, `sampling` takes the rounds.

What is timed changes from sample to sample (`fresh`), is compared now and then (`audit`), and is seen by a second
clock (`judge_clock`). Here too is the quicker timing of what is no verdict (`race`, `contest`).
"""
