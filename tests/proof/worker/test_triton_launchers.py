"""Launchers that the judge has loaded lie among a new text's compiled kernels, as copies."""

import importlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.proof.worker import triton_launchers

_FILE = "__triton_launcher.so"


@pytest.fixture
def load(monkeypatch: pytest.MonkeyPatch) -> Iterator[object]:
    """What Triton loads a compiled module with, which loads nothing here, while note is taken of it."""
    build = importlib.import_module("triton.runtime.build")

    def stand_in(name: str, path: str) -> str:
        if "broken" in path:
            raise ImportError(path)
        return f"{name} of {path}"

    monkeypatch.setattr(build, "_load_module_from_path", stand_in)
    monkeypatch.setattr(triton_launchers, "_loaded", {})
    triton_launchers.take_note.cache_clear()
    triton_launchers.take_note()
    yield lambda name, path: build._load_module_from_path(name, str(path))
    triton_launchers.take_note.cache_clear()


def made(folder: Path, key: str, name: str = _FILE) -> Path:
    path = folder / key / name
    path.parent.mkdir(parents=True)
    path.write_bytes(key.encode())
    return path


def test_what_was_loaded_is_copied_and_nothing_else(load, tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    first = made(ours, "first")
    assert load("__triton_launcher", first) == f"__triton_launcher of {first}"
    load("cuda_utils", made(ours, "helper", "cuda_utils.so"))
    with pytest.raises(ImportError):
        load("__triton_launcher", made(ours, "broken"))
    made(ours, "never-loaded")
    triton_launchers.copy_to(theirs)
    assert [path.relative_to(theirs).as_posix() for path in theirs.rglob("*.so")] == [f"first/{_FILE}"]
    copy = theirs / "first" / _FILE
    copy.write_bytes(b"changed")
    assert first.read_bytes() == b"first"


def test_the_last_ones_are_copied_where_there_are_many(load, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton_launchers, "_MOST", 2)
    paths = [made(tmp_path / "ours", key) for key in "abc"]
    for path in [*paths, paths[0]]:
        load("__triton_launcher", path)
    triton_launchers.copy_to(tmp_path / "theirs")
    assert {path.parent.name for path in (tmp_path / "theirs").rglob("*.so")} == {"c", "a"}


def test_one_that_is_gone_is_left_out(load, tmp_path: Path) -> None:
    gone, here = made(tmp_path / "ours", "gone"), made(tmp_path / "ours", "here")
    load("__triton_launcher", gone)
    load("__triton_launcher", here)
    gone.unlink()
    triton_launchers.copy_to(tmp_path / "theirs")
    assert (tmp_path / "theirs" / "here" / _FILE).read_bytes() == b"here"
