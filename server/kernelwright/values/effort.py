"""How much a verification looks at."""

from enum import StrEnum


class Effort(StrEnum):
    """A speedup is only ever shown beside a verdict of the last two."""

    QUICK = "quick"  # the most telling cases only
    STANDARD = "standard"
    PARANOID = "paranoid"  # more seeds, every boundary, gradients always, more than 2^31 elements where they fit
