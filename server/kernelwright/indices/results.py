"""What was found out about the indices of a text: what travels from the process that asks z3 to the server."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Remark:
    """An access of a kernel that is out of bounds, or races with another one; of several lines the first one counts.

    Lines count from 0, columns are code points.
    """

    code: str
    message: str
    line: int
    column: int
    end_column: int
    kernel: str


@dataclass(frozen=True)
class Checked:
    """How far the accesses of a kernel were looked at, for the launches of its workload lines.

    `inside` are accesses that no thread makes out of bounds, `outside` those that one does, `open` those that were not decided
    or are written in a way that is not modelled. `apart` says that no two threads write different values to one element, None
    where that is open.
    `reason` says why nothing was checked.
    """

    kernel: str
    inside: int = 0
    outside: int = 0
    open: int = 0
    apart: bool | None = None
    reason: str = ""


@dataclass(frozen=True)
class Indices:
    """All of a text."""

    remarks: tuple[Remark, ...] = ()
    kernels: tuple[Checked, ...] = ()
