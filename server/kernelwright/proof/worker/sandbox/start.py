"""What is held of every worker from its first moment, before torch is imported; its hosts are confined further."""

import os
import sys

from kernelwright.proof.worker.sandbox import libc, limits
from kernelwright.proof.worker.sandbox.limits import Limits
from kernelwright.proof.worker.sandbox.outcome import privileges, secrets, tried
from kernelwright.proof.worker.sandbox.secrets import kept
from kernelwright.values.confinement import Confinement, Measure

_ADOPT_ORPHANS = 36  # PR_SET_CHILD_SUBREAPER


def hold_back() -> None:
    """No new privileges, limits on files, no secrets; descendants stay descendants. What fails goes to the log as well.

    The GPU's device files are asked for first: only a set-uid program can make them, once after the machine's start.
    """
    limits.load_driver()
    group = tried(limits.own_group)
    adopting = tried(lambda: libc.prctl(_ADOPT_ORPHANS, 1) and None)
    no_new_privileges = tried(limits.no_new_privileges)
    files = tried(lambda: limits.on_files(Limits()))
    held = Confinement(
        (group.of(Measure.GROUP), secrets(kept(os.environ)), files.of(Measure.LIMITS), privileges(no_new_privileges)),
    )
    missing = [restriction for restriction in held.restrictions if not restriction.held]
    if missing or not adopting.done:
        print(f"{held.sentence} {adopting.words}".rstrip(), file=sys.stderr)
