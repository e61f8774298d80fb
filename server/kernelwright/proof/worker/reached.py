"""What no case of a trial has reached."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Missing:
    """What no case has reached, in words, and the lines of loops that never turned twice.

    `unseen`: there are changed kernels, and nobody could look into them.
    """

    said: tuple[str, ...] = ()
    loops: tuple[int, ...] = ()
    unseen: bool = False

    def __bool__(self) -> bool:
        return bool(self.said or self.loops)
