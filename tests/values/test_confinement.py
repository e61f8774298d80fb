"""What a Confinement says, and that it travels."""

from kernelwright.values.confinement import Confinement, Measure, Restriction
from kernelwright.wire import decode, encode

NETWORK = Restriction(Measure.NETWORK, True, "no sockets")
GROUP = Restriction(Measure.GROUP, True, "")
WRITES = Restriction(Measure.WRITES, False, "this system has no Landlock")


def check(confinement: Confinement, sentence: str) -> None:
    assert confinement.sentence == sentence
    assert decode(Confinement, encode(confinement)) == confinement


def test_the_sentence() -> None:
    check(Confinement((GROUP, NETWORK)), "Confined: own process group; no network (no sockets).")
    check(
        Confinement((WRITES, NETWORK)),
        "Confined: no network (no sockets). Not held: writes only to its scratch folder (this system has no Landlock).",
    )
    check(
        Confinement((WRITES,)),
        "Not confined. Not held: writes only to its scratch folder (this system has no Landlock).",
    )


def test_what_was_not_tried_is_not_held() -> None:
    held = Confinement((NETWORK, WRITES))
    assert [held.holds(measure) for measure in (Measure.NETWORK, Measure.WRITES, Measure.SIGNALS)] == [
        True,
        False,
        False,
    ]
