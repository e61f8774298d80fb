"""What Triton does once in a process: done ahead, it is there for those forked from it."""

import subprocess
import sys

_AHEAD = """
import os, sys
import torch
from triton.runtime.cache import triton_key
from kernelwright.proof.worker import triton_ahead

def known():
    return triton_key.cache_info().currsize == 1 and "triton.experimental.gluon.nvidia.hopper" in sys.modules

before = known()
triton_ahead.get_ready()
if (child := os.fork()) == 0:
    os._exit(0 if known() and not torch.cuda.is_initialized() else 1)
print(before, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""

_WITHOUT_TRITON = """
import sys
sys.modules["triton"] = None
from kernelwright.proof.worker import triton_ahead
triton_ahead.get_ready()
print("got by")
"""


def _printed(text: str) -> str:
    return subprocess.run([sys.executable, "-c", text], check=True, capture_output=True, text=True).stdout.strip()


def test_what_is_found_out_ahead_is_known_in_a_forked_process() -> None:
    assert _printed(_AHEAD) == "False 0"


def test_a_missing_triton_is_for_the_job_to_tell() -> None:
    assert _printed(_WITHOUT_TRITON) == "got by"
