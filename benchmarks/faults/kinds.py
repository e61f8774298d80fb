"""Every kind of fault as a value: its name, the group that it is told under, and the injector that makes it happen."""

import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from random import Random

from benchmarks.faults import deeds, files, outside
from benchmarks.faults.house import House
from benchmarks.faults.inside import Role, ask_for, magic_of
from benchmarks.faults.texts import doing

Inject = Callable[[House, Random], Awaitable[object]]


@dataclass(frozen=True)
class Kind:
    """`inject` returns what the server answered to the request that the fault hit, None where it hit none.

    `needs`: "gpu", "mount" or nothing, where it cannot happen without. `weight`: how often it is drawn for one of the
    dearest, those after which a worker has to be started.
    """

    group: str
    name: str
    inject: Inject
    needs: str = ""

    @property
    def weight(self) -> int:
        if Role.HOST.value in self.name and self.group != "hang":
            return 5
        return {"journal": 15}.get(self.group, 1)


def kinds() -> tuple[Kind, ...]:
    return (
        *(_deed("crash", name, deed, role) for name, deed in deeds.CRASHES.items() for role in Role),
        *(_deed("hang", name, deed, role) for name, deed in deeds.HANGS.items() for role in Role),
        *(_deed("out of memory", name, deed, role) for name, deed in deeds.MEMORY.items() for role in Role),
        *(_deed("message", name, deed, role) for name, deed in deeds.MESSAGES.items() for role in Role),
        *(_deed("poison", name, deed, role) for name, deed in deeds.POISON.items() for role in Role),
        *(_deed("descendant", name, deed, role) for name, deed in deeds.DESCENDANTS.items() for role in Role),
        *(_deed("shared memory", name, deed, role) for name, deed in deeds.MEMORY_SHARED.items() for role in Role),
        *(
            _deed("files", name, deed, role, "mount" if name == "fills-the-disk" else "")
            for name, deed in deeds.FILES.items()
            for role in Role
        ),
        *(Kind("kill", f"kill-{what}-at-work", _at_work(what, outside.kill)) for what in outside.AT_WORK),
        *(Kind("kill", f"kill-{what}-at-random", _at_random(what)) for what in outside.AT_WORK),
        *(Kind("kill", f"kill-{what}-idle", _idle(what, outside.kill)) for what in outside.IDLE),
        Kind("kill", "kill-spare", outside.kill_spare),
        Kind("kill", "kill-all-idle", outside.kill_all),
        Kind("kill", "kill-while-starting", outside.kill_while_starting),
        Kind("kill", "kill-server", outside.kill_server),
        Kind("kill", "kill-server-at-work", outside.kill_server_at_work),
        Kind("kill", "kill-server-while-it-writes", outside.kill_server_while_it_writes),
        Kind("kill", "editor-gone", outside.editor_gone),
        *(Kind("stop", f"stop-{what}-at-work", _at_work(what, outside.stop)) for what in outside.AT_WORK),
        *(Kind("stop", f"stop-{what}-idle", _idle(what, outside.stop)) for what in outside.IDLE),
        Kind("stop", "stop-and-cancel", outside.stop_and_cancel),
        Kind("journal", "journal-locked", files.locked),
        Kind("journal", "journal-locked-exclusively", files.locked_exclusively),
        Kind("journal", "journal-damaged", files.damaged),
        Kind("journal", "journal-truncated", files.truncated),
        Kind("journal", "journal-removed", files.removed),
        Kind("journal", "journal-too-large", files.no_larger),
        Kind("journal", "journal-read-only", files.read_only, "mount"),
        Kind("journal", "journal-disk-full", files.disk_full, "mount"),
        Kind("files", "scratch-disk-full", files.scratch_full, "mount"),
        Kind("files", "scratch-folder-gone", files.scratch_gone),
        *(_deed("GPU", name, deed, role, "gpu") for name, deed in deeds.ON_GPU.items() for role in Role),
    )


def _deed(group: str, name: str, deed: str, role: Role, needs: str = "") -> Kind:
    async def inject(house: House, random: Random) -> object:
        return await ask_for(house, role, doing(deed, on_import=random.random() < 0.25, magic=magic_of(role)), random)

    return Kind(group, f"{name} in the {role.value}", inject, needs)


def _at_work(what: str, deed: Callable[[int], None]) -> Inject:
    return functools.partial(outside.at_work, what=what, deed=deed)


def _at_random(what: str) -> Inject:
    return functools.partial(outside.at_random, what=what)


def _idle(what: str, deed: Callable[[int], None]) -> Inject:
    return functools.partial(outside.idle, what=what, deed=deed)
