"""What a process that runs user code was kept from, measure by measure: part of what a verdict rests on."""

from dataclasses import dataclass
from enum import StrEnum


class Measure(StrEnum):
    """One thing that the process is kept from; the value completes "confined: …"."""

    GROUP = "own process group"
    DEATH = "ends with its parent"
    DESCRIPTORS = "no descriptors of its parent"
    ENVIRONMENT = "no secrets in the environment"
    LIMITS = "limits on files"
    PROCESSES = "bounded number of processes"
    PRIVILEGES = "no new privileges"
    CAPABILITIES = "no capabilities"
    CALLS = "filtered system calls"
    WRITES = "writes only to its scratch folder"
    CREDENTIALS = "no reading of credentials"
    MEMORY = "no access to other processes' memory"
    SHARED = "shared memory of its own"
    SIGNALS = "no signals to other processes"
    NETWORK = "no network"


@dataclass(frozen=True)
class Restriction:
    """Whether one measure holds, and how it is held or why it is not, in words."""

    measure: Measure
    held: bool
    why: str


@dataclass(frozen=True)
class Confinement:
    """Every measure exactly once, in the order of `Measure`."""

    restrictions: tuple[Restriction, ...]

    def holds(self, measure: Measure) -> bool:
        """Whether this measure holds; a measure that was not tried does not."""
        return any(restriction.held for restriction in self.restrictions if restriction.measure is measure)

    @property
    def sentence(self) -> str:
        """For a verdict: "Confined: no network (…), …. Not held: bounded number of processes (…)."."""
        held = "; ".join(_told(restriction) for restriction in self.restrictions if restriction.held)
        missing = "; ".join(_told(restriction) for restriction in self.restrictions if not restriction.held)
        parts = [f"Confined: {held}." if held else "Not confined.", f"Not held: {missing}." if missing else ""]
        return " ".join(part for part in parts if part)


def _told(restriction: Restriction) -> str:
    return f"{restriction.measure} ({restriction.why})" if restriction.why else str(restriction.measure)
