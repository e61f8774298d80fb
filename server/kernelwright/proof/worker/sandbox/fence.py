"""`confine`: every measure, in an order in which none hinders the next, and what became of each."""

import os
import sys
from collections.abc import Callable, Collection, Iterable
from pathlib import Path

from kernelwright.proof.worker.sandbox import caches, landlock, limits, namespaces, outcome, places, secrets, syscalls
from kernelwright.proof.worker.sandbox.landlock import Rule
from kernelwright.proof.worker.sandbox.limits import Limits
from kernelwright.proof.worker.sandbox.outcome import Means, Outcome, tried
from kernelwright.values.confinement import Confinement, Measure, Restriction

_PACKAGE = os.path.realpath(Path(__file__).parents[3])  # an editor may keep it beside its credentials
_SHARED = "it shares the network's namespace with the process whose GPU memory it opens"


def confine(
    scratch: Path | str,
    *,
    beside: Path | str | None = None,
    hidden: Iterable[Path | str] = (),
    descriptors: Collection[int] = (),
    protected: Collection[int] = (),
    bounds: Limits = Limits(),
    ipc: bool = False,
    newest_landlock: int = landlock.NEWEST,
) -> Confinement:
    """Confine this process, and all that it will start, for good. What that means: see the package.

    Call it in a process that was just forked, before the user's code runs: threads that exist already would stay free.
    `scratch` is made where it is missing and is the one folder for writing, caches and temporary files included.
    Reading is free but for credentials and `hidden`, also under another name of theirs (a hard link) in the folder
    `beside`. `descriptors` stay open beside the standard streams. `protected`: processes that must not be signalled, the
    parent beside them. Variables named in the user's settings are no secrets. `ipc`: it opens GPU memory of another process,
    for which a driver may use abstract sockets: these stay open, and the network is closed by the filter alone.

    Raises OSError when `scratch` cannot be made; what else fails is told in the answer.
    """
    parent, keep = os.getppid(), secrets.kept(os.environ)
    protected = {parent, *protected}
    folder = os.path.realpath(scratch)
    caches.move_to(Path(folder))
    for name in os.environ.keys() - secrets.scrubbed(os.environ, keep).keys():
        del os.environ[name]
    if sys.platform != "linux":
        return Confinement(tuple(Restriction(measure, False, "only Linux is supported") for measure in Measure))
    group = tried(limits.own_group)
    closed = tried(lambda: limits.close_descriptors(descriptors))
    sizes = tried(lambda: limits.on_files(bounds))
    own_network = Outcome(False, _SHARED) if ipc else tried(namespaces.leave_the_network)
    shared = tried(_alone(namespaces.own_shared_memory))
    processes = tried(lambda: limits.on_processes(bounds, own_users=own_network.own_users))
    capabilities = tried(_alone(limits.drop_capabilities))
    no_new_privileges = tried(limits.no_new_privileges)
    version = min(landlock.version(), newest_landlock)
    files = tried(_alone(lambda: _restrict_files(version, folder, beside, places.real(hidden), ipc)))
    calls = tried(lambda: syscalls.install(protected))
    death = tried(lambda: limits.die_with(parent))
    means = Means(version, files, own_network, calls)
    return Confinement(
        (
            group.of(Measure.GROUP),
            death.of(Measure.DEATH),
            closed.of(Measure.DESCRIPTORS),
            outcome.secrets(keep),
            sizes.of(Measure.LIMITS),
            processes.of(Measure.PROCESSES),
            outcome.privileges(no_new_privileges),
            capabilities.of(Measure.CAPABILITIES),
            calls.of(Measure.CALLS),
            outcome.writes(means),
            files.of(Measure.CREDENTIALS),
            outcome.memory(means, protected),
            shared.of(Measure.SHARED),
            outcome.signals(means, protected),
            outcome.network(means),
        )
    )


def _alone(deed: Callable[[], str]) -> Callable[[], str]:
    """`deed`, which binds one thread, refused where there are others."""

    def checked() -> str:
        others = namespaces.threads() - 1
        if others:
            raise OSError(f"the process already has {others} other threads, which it would not bind")
        return deed()

    return checked


def _restrict_files(version: int, scratch: str, beside: Path | str | None, hidden: list[str], ipc: bool) -> str:
    if version == 0:
        raise OSError("this system has no Landlock, or does not let it be used")
    if version < landlock.RENAMES:
        raise OSError("Landlock 1 forbids what Triton's cache does; Linux 5.19 brings Landlock 2")
    closed = places.credentials().union(hidden)
    closed |= places.links(closed, os.path.realpath(beside)) if beside is not None else set()
    written = [scratch, *places.devices(), os.path.realpath("/proc/self")]
    rules = [
        Rule("/", landlock.READ_FOLDER),  # names are no secret, and Python lists the folders that it imports from
        *(Rule(path, landlock.READ) for path in (_PACKAGE, *places.readable(closed))),
        *(Rule(path, landlock.ALL) for path in written),
    ]
    landlock.restrict(rules, version, abstract_sockets=ipc)
    return f"Landlock {version}"
