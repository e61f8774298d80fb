"""From what was done to what holds: several means serve one measure, and some hold less than their name says."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from kernelwright.proof.worker.sandbox import landlock, namespaces, reach
from kernelwright.values.confinement import Measure, Restriction


@dataclass(frozen=True)
class Outcome:
    """Whether a deed succeeded, and how or why not, in words."""

    done: bool
    words: str = ""

    @property
    def own_users(self) -> bool:
        """Whether it made a user namespace: the processes outside of it belong to somebody else."""
        return self.done and self.words == namespaces.WITH_USERS

    def of(self, measure: Measure) -> Restriction:
        """The restriction that rests on this deed alone."""
        return Restriction(measure, self.done, self.words)


@dataclass(frozen=True)
class Means:
    """The three great means; `landlock` is the version in use, 0 where `files` failed."""

    landlock: int
    files: Outcome
    namespace: Outcome
    calls: Outcome


def tried(deed: Callable[[], str | None]) -> Outcome:
    """The outcome of `deed`, which raises OSError or says in words what it did."""
    try:
        return Outcome(True, deed() or "")
    except OSError as error:
        return Outcome(False, (error.strerror or str(error)).lower() if error.errno else str(error))


def writes(means: Means) -> Restriction:
    if means.files.done and means.landlock < landlock.TRUNCATION:
        why = f"Landlock {means.landlock} lets existing files be emptied; from Linux 6.2 on it does not"
        return Restriction(Measure.WRITES, False, why)
    if means.files.done and not means.calls.done:
        return Restriction(Measure.WRITES, False, "modes, owners and times of files elsewhere can be changed")
    return means.files.of(Measure.WRITES)


def memory(means: Means, protected: Collection[int]) -> Restriction:
    if any(reach.memory_of(process) for process in protected):
        return Restriction(Measure.MEMORY, False, "its parent's can be opened")
    if means.files.done or means.namespace.own_users:
        return Restriction(Measure.MEMORY, True, means.files.words if means.files.done else means.namespace.words)
    why = "neither Landlock nor a user namespace: only processes that keep themselves private are safe"
    return Restriction(Measure.MEMORY, False, why)


def signals(means: Means, protected: Collection[int]) -> Restriction:
    if any(reach.signals_to(process) for process in protected):
        return Restriction(Measure.SIGNALS, False, "its parent can be killed")
    if means.files.done and means.landlock >= landlock.SCOPES:
        return means.files.of(Measure.SIGNALS)
    why = "only to those that judge it; from Linux 6.12 on Landlock keeps them from all"
    return Restriction(Measure.SIGNALS, False, why if means.calls.done else means.calls.words)


def network(means: Means) -> Restriction:
    ways = [means.namespace.words] if means.namespace.done else []
    ways += ["no sockets"] if means.calls.done else []
    if ways and not reach.the_network():
        return Restriction(Measure.NETWORK, True, ", ".join(ways))
    if means.files.done and means.landlock >= landlock.NETWORK:
        return Restriction(Measure.NETWORK, False, f"Landlock {means.landlock} closes TCP, not UDP")
    return Restriction(Measure.NETWORK, False, f"{means.namespace.words}; {means.calls.words}")


def privileges(done: Outcome) -> Restriction:
    if done.done and reach.a_privilege():
        return Restriction(Measure.PRIVILEGES, False, "another thread of the process may gain them")
    return done.of(Measure.PRIVILEGES)


def secrets(keep: Collection[str]) -> Restriction:
    names = reach.secrets_at_start() - set(keep)
    if names:
        why = f"it was started with {', '.join(sorted(names)[:3])}, which /proc/self/environ still shows"
        return Restriction(Measure.ENVIRONMENT, False, why)
    return Restriction(Measure.ENVIRONMENT, True, "")
