"""`python -m kernelwright.proof.worker DESCRIPTOR ROLE SERVER_PID`: the bootstrap, where the package is installed."""

import sys

from kernelwright.proof.worker import loop

loop.main(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
