"""Deeds in a confined process, for the tests: done or stopped, beside what the Confinement says."""

import functools
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kernelwright.proof.worker.sandbox import landlock, secrets
from kernelwright.values.confinement import Confinement, Measure
from kernelwright.wire import decode

HOST = Path(__file__).with_name("host.py")
NOBODY = 65534
USERS = (0, NOBODY) if os.getuid() == 0 else (os.getuid(),)


@dataclass(frozen=True)
class Seen:
    """`returned` is what the deed returned; `stopped` the error that ended it, empty where it was done."""

    confinement: Confinement
    returned: object
    stopped: str


def seen(deed: str, user: int = USERS[0], environment: Mapping[str, str] | None = None, **options: object) -> Seen:
    """What became of `deed` in a process of `user`, confined with `options`; `confined=False` for none at all."""
    with _place(user) as place:
        place.chmod(options.pop("mode", 0o755))
        if stored := options.pop("stored", None):
            (place / "home" / stored[0]).mkdir(parents=True, exist_ok=True)
            (place / "home" / stored[0] / stored[1]).write_text("content")
            for path in (place / "home").rglob("*"):
                os.chown(path, user, -1, follow_symlinks=False)
        if "hidden" in options:
            options["hidden"] = [str(place / options["hidden"])]
        if "beside" in options:
            options["beside"] = str(place / options["beside"])
        case = {"deed": deed, "user": user, "options": options, "place": str(place)}
        server = _server(tuple((environment or {}).items()))
        server.stdin.write(json.dumps(case) + "\n")
        server.stdin.flush()
        answer = json.loads(server.stdout.readline())
    assert "broken" not in answer, answer["broken"]
    held = answer.get("confinement")
    confinement = Confinement(()) if held is None else decode(Confinement, held)
    return Seen(confinement, answer.get("returned"), answer.get("stopped", ""))


def check(measure: Measure, deed: str, user: int, **options: object) -> None:
    """`deed` works where nothing is confined; else it is stopped, or the Confinement says that `measure` is not held."""
    free = seen(deed, user, confined=False)
    found = seen(deed, user, **options)
    if free.stopped:
        assert measure in refused_to_all(), f"without confinement: {free.stopped}"
        assert found.stopped
        return
    assert bool(found.stopped) is found.confinement.holds(measure), (found.stopped, found.confinement.sentence)
    if certain(measure, user, **options):
        assert found.stopped, found.confinement.sentence


def refused_to_all() -> set[Measure]:
    """What the system itself may refuse to everybody: Yama, or the filter of the container that the tests run in."""
    yama = Path("/proc/sys/kernel/yama/ptrace_scope")
    traced = {Measure.MEMORY} if yama.exists() and yama.read_text().strip() != "0" else set()
    filtered = {Measure.CALLS} if "Seccomp:\t2" in Path("/proc/self/status").read_text() else set()
    return traced | filtered


def certain(measure: Measure, user: int, newest_landlock: int = landlock.NEWEST, **_: object) -> bool:
    """Whether this machine is known to hold the measure, so that a Confinement without it is an error."""
    version = min(landlock.version(), newest_landlock)
    match measure:
        case Measure.WRITES:
            return version >= landlock.TRUNCATION
        case Measure.CREDENTIALS | Measure.MEMORY:
            return version >= landlock.RENAMES
        case Measure.SIGNALS:
            return version >= landlock.SCOPES
        case Measure.PROCESSES:
            return user != 0
        case Measure.NETWORK | Measure.CALLS:
            return os.uname().machine in ("x86_64", "aarch64")
        case _:
            return True


@functools.cache
def _server(environment: tuple[tuple[str, str], ...]) -> subprocess.Popen[str]:
    """One that forks a process per case, started with this environment and no secret beside it; it ends with us."""
    return subprocess.Popen(
        [sys.executable, str(HOST)],
        env=secrets.scrubbed(os.environ) | dict(environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@contextmanager
def _place(user: int) -> Iterator[Path]:
    """A home with a key in it, a folder to write to, one to leave alone, one to hide; all of them the user's."""
    place = Path(tempfile.mkdtemp(prefix="kernelwright-test-", dir="/tmp"))
    try:
        for name in ("home/.ssh", "home/project", "outside", "hidden", "scratch"):
            (place / name).mkdir(parents=True)
        for name in ("home/.ssh/id_ed25519", "home/project/kernel.py", "outside/file", "hidden/file"):
            (place / name).write_text("content")
        (place / "home" / "link").symlink_to(place / "home" / ".ssh")
        os.link(place / "home" / ".ssh" / "id_ed25519", place / "home" / "project" / "notes")
        for path in (place, *place.rglob("*")):
            os.chown(path, user, -1, follow_symlinks=False)
        yield place
    finally:
        shutil.rmtree(place)
