"""Processes in which one text each runs, apart from the judge: forked off a warm process, asked over a private pipe.

The judge keeps inputs, reference outputs and the verdict to itself. A host is given copies of the inputs in an arena, and
what it answers is JSON and raw tensor bytes, which the judge checks and never unpickles.
"""
