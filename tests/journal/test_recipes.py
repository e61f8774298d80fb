"""Which steps a kernel's recipe is made of, and how they come back from disk."""

import dataclasses
import json
import sqlite3
from pathlib import Path

import pytest

from journal.steps import step
from kernelwright.journal import open_journal
from kernelwright.journal.disk import DATABASE, FOLDER
from kernelwright.journal.recipes import recipe_of
from kernelwright.values import Action, Edits, Outcome, Region, Step
from kernelwright.values.opts import Block, Loop, Rows, Warps

KEPT = Outcome.KEPT


def plain(name: str, before: str, after: str, replays: str = "", outcome: Outcome = KEPT) -> Step:
    action = Action("strategy", Region(0, 1, before))
    return Step(name, "kernel", action, None, before, after, outcome, "", replays=replays)


@pytest.mark.parametrize(
    ("steps", "left"),
    [
        ([], ""),
        ([plain("1", "a", "b"), plain("2", "b", "c")], "12"),
        ([plain("1", "a", "b"), plain("2", "edited", "c")], "12"),
        ([plain("1", "a", "b"), plain("2", "b", "c", outcome=Outcome.REJECTED), plain("3", "b", "d")], "13"),
        ([plain("1", "a", "b"), plain("2", "b", "c"), plain("3", "a", "d")], "3"),
        ([plain("1", "a", "b"), plain("2", "b", "c"), plain("3", "a", "d", replays="1")], "32"),
        ([plain("1", "a", "b"), plain("2", "b", "c"), plain("3", "e", "f", "1"), plain("4", "f", "g", "2")], "34"),
        ([plain("1", "a", "b"), plain("3", "e", "f", "1"), plain("4", "g", "h", "3")], "4"),
        ([plain("1", "a", "b", outcome=Outcome.REVERTED), plain("3", "a", "d", replays="1")], "3"),
        ([plain("1", "a", "b"), plain("3", "e", "f", "1", Outcome.REVERTED)], "1"),
    ],
)
def test_which_steps_are_replayed(steps: list[Step], left: str) -> None:
    assert "".join(one.id for one in recipe_of("kernel", steps).steps) == left


def scheduled(number: int, *opts: Block | Loop | Rows | Warps) -> Step:
    made = step(number, f"before {number}", f"after {number}")
    assert isinstance(made.edits, Edits)
    return dataclasses.replace(made, edits=dataclasses.replace(made.edits, opts=opts))


def test_schedules_and_summaries_come_back_as_they_went_in(tmp_path: Path) -> None:
    steps = (scheduled(1, Block(512), Warps(4)), scheduled(2), scheduled(3, Rows(8), Loop(128), Warps(4)))
    with open_journal(tmp_path) as journal:
        for one in steps:
            journal.add_step("a.py", one, f"before {one.id}", f"after {one.id}")
    with open_journal(tmp_path) as journal:
        recipe = journal.recipe("a.py", "softmax")
    assert [one.edits.opts for one in recipe.steps] == [one.edits.opts for one in steps]
    assert [(action.opts, action.variant) for action in recipe.actions] == [
        ((Block(512), Warps(4)), ""),
        ((), "BLOCK=2048"),
        ((Rows(8), Loop(128), Warps(4)), ""),
    ]


def test_a_database_of_a_version_without_schedules_opens(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        journal.add_step("a.py", scheduled(1, Block(512), Warps(4)), "before", "after")
    connection = sqlite3.connect(tmp_path / FOLDER / DATABASE)
    ((value,),) = connection.execute("SELECT value FROM steps").fetchall()
    data = json.loads(value)
    del data["replays"], data["edits"]["opts"], data["action"]["opts"], data["action"]["variant"]
    connection.execute("UPDATE steps SET value = ?", (json.dumps(data),))
    connection.commit()
    connection.close()
    with open_journal(tmp_path) as journal:
        assert journal.notice == ""
        (action,) = journal.recipe("a.py", "softmax").actions
    assert (action.strategy, action.opts, action.variant) == ("triton.tune-launch", (), "BLOCK=2048")
