"""Which places of the machine a confined process may read and write.

Landlock only knows what is allowed. So reading is allowed on every entry of a folder on the way to a hidden place, apart
from that place; what appears in such a folder later, beside the hidden place, cannot be read.
"""

import contextlib
import glob
import itertools
import os
import pwd
import stat
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

_DEVICES = ("null", "zero", "full", "random", "urandom", "shm")
_GPU_DEVICES = ("nvidia*", "dxg", "nvhost*", "nvmap")  # on a server, under Windows, on a Jetson

_STORES = Path(__file__).with_name("credentials.txt")
_MOST_IN_STORES, _MOST_BESIDE = 2_000, 20_000  # entries that are looked at for links


def credentials() -> set[str]:
    """The places that hold credentials and that exist, absolute and without links."""
    homes = {glob.escape(home) for home in (os.path.expanduser("~"), _home_of_the_account()) if home not in ("", "~")}
    rows = (line.strip() for line in _STORES.read_text(encoding="utf-8").splitlines())
    patterns = {os.path.join(home, row) for row in rows if row and row[0] != "#" for home in homes}
    return set(real(found for pattern in patterns for found in glob.glob(pattern)))


def links(hidden: Collection[str], folder: str) -> set[str]:
    """Files in `folder`, and below it, that are other names of a file in a hidden place.

    A bounded number of entries is looked at, and `folder` only where some hidden file has a second name.
    """
    linked = {_number(s) for _, s in _files(hidden, _MOST_IN_STORES) if s.st_nlink > 1}
    return {path for path, s in _files([folder], _MOST_BESIDE) if _number(s) in linked} if linked else set()


def readable(hidden: Collection[str]) -> Iterator[str]:
    """Every place that is as high in the tree as it can be and has none of `hidden` (absolute, no links) beneath it."""
    yield from _around(set(hidden), {parent for place in hidden for parent in _parents(place)}, "/")


def devices() -> Iterator[str]:
    """What a program that computes writes to beside files: the usual devices, shared memory, the GPU's own."""
    for pattern in (*_DEVICES, *_GPU_DEVICES):
        yield from glob.glob(f"/dev/{pattern}")


def real(paths: Iterable[str | os.PathLike[str]]) -> list[str]:
    """The paths absolute and without links."""
    return [os.path.realpath(path) for path in paths]


def _around(hidden: set[str], parents: set[str], folder: str) -> Iterator[str]:
    on_the_way = {os.path.basename(parent) for parent in parents if os.path.dirname(parent) == folder}
    try:
        names = on_the_way.union(os.listdir(folder))
    except OSError:
        names = on_the_way  # a folder of homes that only its owner may list
    for name in names:
        path = os.path.join(folder, name)
        if path in parents and path not in hidden:
            yield from _around(hidden, parents, path)
        elif path not in hidden:
            yield path


def _files(places: Iterable[str], most: int) -> Iterator[tuple[str, os.stat_result]]:
    """The files at or below `places`, of at most so many entries; links are not followed."""
    below = (os.path.join(at, name) for place in places for at, _, names in os.walk(place) for name in names)
    for path in itertools.islice(itertools.chain(places, below), most):
        with contextlib.suppress(OSError):
            found = os.lstat(path)
            if stat.S_ISREG(found.st_mode):
                yield path, found


def _number(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _parents(place: str) -> Iterator[str]:
    while (place := os.path.dirname(place)) != "/":
        yield place


def _home_of_the_account() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""  # an account without an entry, as in many containers
