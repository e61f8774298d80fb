"""One fault of each group, on one warm server over stdio: answered rightly afterwards, nothing lost, nothing left.

All kinds, and how long the answers take: `python -m benchmarks.faults`.
"""

from collections.abc import AsyncIterator
from random import Random

import pytest
import pytest_asyncio
from benchmarks.faults.house import House, make
from benchmarks.faults.kinds import kinds
from benchmarks.faults.rounds import SLOW, play, refusal_of

KINDS = {kind.name: kind for kind in kinds()}
ONE_OF_EACH = (
    "segfault in the host",
    "out-of-memory-huge in the run worker",
    "half-header in the host",
    "a-reply-twice in the run worker",
    "patched-torch in the judge",
    "escaped in the host",
    "shared-memory-left in the host",
    "temporary-files-left in the host",
    "kill-zygote-idle",
    "stop-judge-idle",
    "stop-and-cancel",
    "journal-damaged",
    "kill-server-while-it-writes",
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def house() -> AsyncIterator[tuple[House, str]]:
    """With a warm server, and what that says of the good kernel."""
    house = make(mounts=False, limit=120.0, patience=120.0)
    try:
        await house.start()
        await house.set_baseline()
        refusal = await refusal_of(house)
        await house.editor.command("kernelwright.verify", {"uri": house.good})
        house.count()
        yield house, refusal
        await house.stop()
    finally:
        house.close()


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", ONE_OF_EACH)
async def test_the_server_goes_on_after(name: str, house: tuple[House, str]) -> None:
    outcome = await play(house[0], KINDS[name], Random(name), house[1])
    assert [problem for problem in outcome.problems if SLOW not in problem] == []


def test_every_group_is_in_the_sample() -> None:
    missing = {kind.group for kind in KINDS.values()} - {KINDS[name].group for name in ONE_OF_EACH}
    assert missing == {"hang", "GPU"}, "a hang costs seconds; the GPU is not everywhere"
