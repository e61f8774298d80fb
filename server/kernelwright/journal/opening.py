"""Opens the journal of a workspace; what cannot be kept on disk is kept in memory, and says so in one sentence."""

import contextlib
import sqlite3
from pathlib import Path

from kernelwright.journal.disk import DATABASE, FOLDER, Disk, in_memory, is_damage
from kernelwright.journal.keeper import Keeper
from kernelwright.journal.schema import NewerSchema
from kernelwright.journal.store import Journal
from kernelwright.journal.words import restored, unwritable
from kernelwright.values import Refusal


def open_journal(workspace: Path) -> Journal | Refusal:
    """The journal in `workspace/.kernelwright/`, made when absent.

    A folder that cannot be written, a full disk, a database that another process holds, a damaged one without a copy and
    one written by a newer version give a journal in memory (`persistent` False) whose `notice` says why; where the old
    entries can be read they are there, and what is new is written once it can be. Only a workspace that is no folder is
    refused.
    """
    if not workspace.is_dir():
        return Refusal(f"There is no journal, because the workspace {workspace} is not a folder.")
    disk = Disk(workspace)
    database = disk.database
    try:
        return Journal(Keeper(workspace, disk.open(), disk=disk))
    except NewerSchema as error:
        return _in_memory(
            workspace,
            f"{database} was written by a newer Kernelwright ({error}); update it to see the history. "
            "Until then steps are kept in memory only.",
        )
    except OSError as error:
        return _in_memory(workspace, unwritable(database, error), disk)
    except sqlite3.DatabaseError as error:
        if is_damage(error):
            with contextlib.suppress(OSError, sqlite3.Error, NewerSchema):
                connection, aside = disk.restored()
                return Journal(Keeper(workspace, connection, disk=disk, notice=restored(workspace, aside)))
        return _in_memory(workspace, unwritable(database, error), disk)


def open_when_begun(workspace: Path) -> Journal | Refusal:
    """As `open_journal`, but a workspace in which nothing was kept yet is left as it is until the first entry."""
    if not workspace.is_dir() or is_begun(workspace):
        return open_journal(workspace)
    return _in_memory(workspace, "", Disk(workspace))


def is_begun(workspace: Path) -> bool:
    """Whether anything was kept in this workspace: opening a journal would begin one."""
    return (workspace / FOLDER / DATABASE).exists()


def open_in_memory(workspace: Path, notice: str = "Steps are kept in memory and end with this run.") -> Journal:
    """A journal that leaves nothing on disk, knowing what the workspace's own one holds."""
    return Journal(Keeper(workspace, in_memory(Disk(workspace).read), persistent=False, notice=notice))


def _in_memory(workspace: Path, notice: str, disk: Disk | None = None) -> Journal:
    connection = in_memory(*([disk.read, disk.read_copy] if disk else []))
    return Journal(Keeper(workspace, connection, persistent=False, notice=notice, disk=disk))
