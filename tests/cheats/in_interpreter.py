"""Run by `interpreted.judged`: trials as JSON on stdin, one per line, verdict results on stdout."""

import json
import sys

from kernelwright import wire
from kernelwright.proof.jobs import Trial
from kernelwright.proof.worker import loop
from kernelwright.proof.worker.hosts import zygote
from kernelwright.proof.worker.trial import run_trial

if __name__ == "__main__":
    loop.prepare("judge")
    zygote.fork_zygote()  # as a judge does: else an interpreter is started for it
    for line in sys.stdin:
        result = run_trial(wire.decode(Trial, json.loads(line)), lambda stage: None)
        sys.__stdout__.write(json.dumps(wire.encode(result)) + "\n")
