"""Faults of what lies on disk: the journal's database, and the folder for temporary files. Mended after the next request."""

import asyncio
import contextlib
import os
import shutil
import sqlite3
import subprocess
from pathlib import Path
from random import Random

import psutil
from benchmarks.faults.house import House


async def locked(house: House, random: Random) -> object:
    """Another program is writing and does not come to an end."""
    return await _held(house, "BEGIN IMMEDIATE")


async def locked_exclusively(house: House, random: Random) -> object:
    """Another program has the database for itself when a server starts: it cannot even be read."""
    house.server.kill()
    house.server.wait(5.0)
    await house.discard()
    other = sqlite3.connect(house.database, isolation_level=None, timeout=5.0)
    house.mend.append(other.close)
    with contextlib.suppress(
        sqlite3.DatabaseError
    ):  # a damaged one, of an earlier fault, that nobody had to read since
        for statement in ("PRAGMA locking_mode = EXCLUSIVE", "BEGIN EXCLUSIVE", "COMMIT"):
            other.execute(statement)
    await house.start()
    house.census.server = house.server.pid
    return await house.keep(_name(random))


async def damaged(house: House, random: Random) -> object:
    """Bytes of the file are overwritten, its header among them or not; what was in the log beside it as well."""
    size = house.database.stat().st_size
    for path in (house.database, house.database.with_name("journal.db-wal")):
        if not path.exists():
            continue
        with open(path, "r+b") as file:
            starts = [0] if random.random() < 0.5 else []
            starts += [random.randrange(size) for _ in range(random.randrange(1, 20))]
            for start in starts:
                file.seek(start)
                file.write(random.randbytes(min(random.randrange(1, 8192), max(size - start, 1))))
    return await house.keep(_name(random))


async def truncated(house: House, random: Random) -> object:
    """The file ends where it should not, as after a copy that was cut off; the log beside it is empty."""
    os.truncate(house.database, random.choice([0, 100, 4096, random.randrange(house.database.stat().st_size)]))
    log = house.database.with_name("journal.db-wal")
    if log.exists():
        os.truncate(log, 0)
    return await house.keep(_name(random))


async def removed(house: House, random: Random) -> object:
    """Its folder is removed, as `git clean -xfd` does. What was in it is gone by a person's wish."""
    shutil.rmtree(house.database.parent)
    house.kept.clear()
    await house.set_baseline()
    return await house.keep(_name(random))


async def no_larger(house: House, random: Random) -> object:
    """The server may write nothing more to any file."""
    before = house.server.rlimit(psutil.RLIMIT_FSIZE)
    house.server.rlimit(psutil.RLIMIT_FSIZE, (0, before[1]))
    house.mend.append(lambda: house.server.rlimit(psutil.RLIMIT_FSIZE, before))
    return await house.keep(_name(random))


async def read_only(house: House, random: Random) -> object:
    """The file system is read-only when a server starts, as after an error of the disk."""
    house.server.kill()
    house.server.wait(5.0)
    await house.discard()
    _remount(house.workspace, "ro")
    house.mend.append(lambda: _remount(house.workspace, "rw"))
    await house.start()
    house.census.server = house.server.pid
    return await house.keep(_name(random))


async def disk_full(house: House, random: Random) -> object:
    _fill(house, house.workspace)
    return await house.keep(_name(random))


async def scratch_full(house: House, random: Random) -> object:
    """No room for temporary files, with the workers that are there or with new ones."""
    _fill(house, house.tmp)
    if random.random() < 0.5:
        for role in ("run", "judge"):
            for process in house.workers(role):
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, 9)
    answer = await house.editor.command("kernelwright.verify", {"uri": house.good})
    house.heal()
    return answer


async def scratch_gone(house: House, random: Random) -> object:
    """Somebody cleans the folder for temporary files up while the workers live."""
    for place in house.tmp.iterdir():
        shutil.rmtree(place, ignore_errors=True)
    return await house.editor.command("kernelwright.verify", {"uri": house.good})


async def _held(house: House, *statements: str) -> object:
    other = sqlite3.connect(house.database, isolation_level=None, timeout=5.0)
    for statement in statements:
        other.execute(statement)
    house.mend.append(other.close)
    return await asyncio.wait_for(house.keep(_name(Random(house.round))), 30.0)


def _fill(house: House, folder: Path) -> None:
    filler = folder / "filler"
    with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 16))
    house.mend.append(lambda: filler.unlink(missing_ok=True))


def _remount(folder: Path, mode: str) -> None:
    subprocess.run(["mount", "-o", f"remount,{mode}", str(folder)], check=True, capture_output=True)


def _name(random: Random) -> str:
    return f"kept_{random.randrange(50)}.py"
