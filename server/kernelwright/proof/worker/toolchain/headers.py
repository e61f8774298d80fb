"""The headers of a project that a CUDA text includes: found as its build would find them, and made C++ for the emulator."""

import contextlib
import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from kernelwright.proof.worker.toolchain import translation

EMULATED = Path(__file__).parent / "emulator" / "include"
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+\.(?:h|cuh|hpp|inl|inc))>)', re.MULTILINE)
_CONDITION, _ENDED = (re.compile(rf"^[ \t]*#[ \t]*{word}", re.MULTILINE) for word in ("if", "endif"))
HEADERS = (".h", ".cuh", ".hpp", ".inl", ".inc")
_INCLUDING = (".cu", ".cuh", ".h", ".hpp")
_FOLDERS = (".", "include", "inc", "common", "Common", "src")
_MOST_ABOVE = 6  # folders, where no repository begins before
_MOST = 256
_SYSTEM = Path("/usr/include")


@dataclass(frozen=True)
class Header:
    """One header, under each name that it is included by; `folders` are where the names lead to it from."""

    place: Path
    text: str
    folders: tuple[Path, ...]


def headers_of(beside: Path, text: str) -> tuple[Header, ...]:
    """The headers that a file in the folder `beside` includes, and those that these include."""
    found: dict[Path, Header] = {}
    above = tuple(_above(beside))
    waiting = [(beside, text)]
    while waiting and len(found) < _MOST:
        folder, including = waiting.pop()
        for name in names_in(including):
            place = resolved(name, (folder, beside, *above))
            if place is None or place in found:
                continue
            with contextlib.suppress(OSError):
                made = Header(place, place.read_text(encoding="utf-8", errors="replace"), (_root(place, name),))
                found[place] = made
                waiting.append((place.parent, made.text))
    return tuple(found.values())


def in_front_of(header: Path) -> Header | None:
    """What stands before a header where the nearest file of the project includes it, as a header; None where there is none."""
    folders = dict.fromkeys(_above(header.parent))
    files = (
        file for folder in folders for file in sorted(folder.glob("*")) if file.suffix in _INCLUDING and file != header
    )
    for file in itertools.islice(files, _MOST):
        with contextlib.suppress(OSError):
            text = file.read_text(encoding="utf-8", errors="replace")
            for found in _INCLUDE.finditer(text) if header.name in text else ():
                if resolved(found[1] or found[2], (file.parent, *_above(file.parent))) == header:
                    before = text[: found.start()]
                    opened = len(_CONDITION.findall(before)) - len(_ENDED.findall(before))
                    return Header(file.resolve(), before + "\n#endif" * opened + "\n", (file.parent,))
    return None


def names_in(text: str) -> Iterator[str]:
    """The headers that a text includes, in quotes or between angles, but for those of C++ itself."""
    return (quoted or between for quoted, between in _INCLUDE.findall(text))


def resolved(name: str, folders: tuple[Path, ...]) -> Path | None:
    """The file of a project that a name means; None where it is none of a project."""
    if (EMULATED / name).is_file():
        return None
    with contextlib.suppress(OSError, ValueError):
        for folder in dict.fromkeys(folders):
            if (place := folder / name).is_file() and not _SYSTEM.joinpath(name).is_file():
                return place.resolve()
    return None


def written(headers: tuple[Header, ...], beside: Path, text: str, scratch: Path) -> Mapping[str, str]:
    """Write the headers as C++ for the emulator; what to include in the text in place of each name."""
    above = tuple(_above(beside))
    places = {one.place: scratch / str(number) / one.place.name for number, one in enumerate(headers)}

    def instead(including: str, folder: Path) -> dict[str, str]:
        found = {}
        for name in names_in(including):
            place = resolved(name, (folder, beside, *above))
            if place in places:
                found[name] = str(places[place])
        return found

    for one in headers:
        made = translation.header(one.text, instead(one.text, one.place.parent))
        places[one.place].parent.mkdir()
        places[one.place].write_text(made.text, encoding="utf-8", errors="surrogatepass")
    return instead(text, beside)


def _root(place: Path, name: str) -> Path:
    """The folder that a compiler has to be told of, for a name to lead to a place."""
    return Path(str(place).removesuffix(name)) if str(place).endswith(name) else place.parent


def _above(beside: Path) -> Iterator[Path]:
    """The folders of the project in which its build may look for headers: those above a file, and what they keep them in."""
    for folder in (beside, *beside.parents)[: _MOST_ABOVE + 1]:
        if folder == folder.parent:
            return
        yield from (folder / name for name in _FOLDERS)
        if (folder / ".git").exists():
            return
