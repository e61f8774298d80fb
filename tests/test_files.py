"""Files are written whole or not at all, and never over what somebody else wrote."""

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kernelwright import files
from kernelwright.mistakes import BadInput

NOBODY = 65534


@contextmanager
def as_nobody() -> Iterator[Path]:
    """A folder, and rights that end at read-only files: for root they would not."""
    with tempfile.TemporaryDirectory() as name:
        folder, me = Path(name), os.geteuid()
        folder.chmod(0o777)
        (folder / "a.py").write_text("old")
        if me == 0:
            os.chown(folder / "a.py", NOBODY, NOBODY)
            os.seteuid(NOBODY)
        try:
            yield folder
        finally:
            os.seteuid(me)
            folder.chmod(0o777)


def test_content_mode_and_link_are_kept(tmp_path: Path) -> None:
    (tmp_path / "real.py").write_bytes(b"old\r\n")
    (tmp_path / "real.py").chmod(0o751)
    (tmp_path / "link.py").symlink_to("real.py")
    files.replace(tmp_path / "link.py", "old\r\n", "new\r\n")
    assert (tmp_path / "real.py").read_bytes() == b"new\r\n"
    assert stat.S_IMODE((tmp_path / "real.py").stat().st_mode) == 0o751
    assert (tmp_path / "link.py").is_symlink()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.py", "real.py"]


def test_another_text_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("somebody else's")
    with pytest.raises(BadInput, match="changed while it was being optimised; nothing was written"):
        files.replace(tmp_path / "a.py", "old", "new")
    assert (tmp_path / "a.py").read_text() == "somebody else's"


def test_a_file_that_is_gone_is_not_made_again(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be written: No such file or directory; nothing was changed"):
        files.replace(tmp_path / "a.py", "old", "new")
    assert list(tmp_path.iterdir()) == []


def test_a_read_only_file_stays() -> None:
    with as_nobody() as folder:
        (folder / "a.py").chmod(0o444)
        with pytest.raises(BadInput, match="is read-only; nothing was written"):
            files.replace(folder / "a.py", "old", "new")
        assert (folder / "a.py").read_text() == "old"


def test_a_read_only_folder_keeps_its_file() -> None:
    with as_nobody() as folder:
        os.chmod(folder, 0o555) if os.geteuid() != NOBODY else _make_read_only(folder)
        with pytest.raises(BadInput, match="Permission denied; nothing was changed"):
            files.replace(folder / "a.py", "old", "new")
        assert [p.name for p in folder.iterdir()] == ["a.py"]
        with pytest.raises(BadInput, match="is read-only"):
            files.check_result(folder / "out.json")


def test_of_several_files_all_are_replaced_or_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = tmp_path / "one.py", tmp_path / "other.py"
    one.write_text("old")
    other.write_text("old")
    changes = ((one, "old", "new"), (other, "old", "new"))
    with pytest.raises(BadInput, match=r"other\.py changed while"):
        files.replace_all((changes[0], (other, "older", "new")))
    assert (one.read_text(), other.read_text()) == ("old", "old")
    put = os.replace

    def full(source: str, target: Path) -> None:
        if target == other:
            raise OSError(28, "No space left on device")
        put(source, target)

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(BadInput, match=r"other\.py cannot be written: No space left on device; nothing was changed"):
        files.replace_all(changes)
    assert (one.read_text(), other.read_text()) == ("old", "old")
    monkeypatch.undo()
    files.replace_all(changes)
    assert (one.read_text(), other.read_text()) == ("new", "new")


def _make_read_only(folder: Path) -> None:
    os.seteuid(0)
    folder.chmod(0o555)
    os.seteuid(NOBODY)


def test_a_new_result_has_the_usual_mode(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    files.write_result(tmp_path / "out.json", "{}")
    assert (tmp_path / "out.json").stat().st_mode == (tmp_path / "usual").stat().st_mode
