"""Settings are put back, and only those that differ: setting some of them imports a compiler, which takes a second."""

import subprocess
import sys

import torch

from kernelwright.proof.worker import flags

_PUT_BACK = """
import sys, torch
from kernelwright.proof.worker import flags
before = flags.read()
torch.set_num_threads(before["torch.get_num_threads()"] % 2 + 1)
torch.backends.cuda.matmul.allow_tf32 = not torch.backends.cuda.matmul.allow_tf32
assert flags.read() != before
flags.write(before)
assert flags.read() == before
print("torch._inductor.config" in sys.modules)
"""


def test_putting_threads_back_imports_no_compiler() -> None:
    ended = subprocess.run([sys.executable, "-c", _PUT_BACK], check=True, capture_output=True, text=True)
    assert ended.stdout.strip() == "False"


def test_every_setting_is_put_back() -> None:
    before = flags.read()
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(before["torch.get_num_threads()"] % 2 + 1)
    torch.use_deterministic_algorithms(not before["torch.are_deterministic_algorithms_enabled()"])
    torch.backends.cudnn.benchmark = not before["torch.backends.cudnn.benchmark"]
    torch.backends.cudnn.deterministic = not before["torch.backends.cudnn.deterministic"]
    torch.backends.cudnn.allow_tf32 = not before["torch.backends.cudnn.allow_tf32"]
    torch.backends.cuda.matmul.allow_tf32 = not before["torch.backends.cuda.matmul.allow_tf32"]
    torch.set_flush_denormal(not before["torch.set_flush_denormal()"])
    for half in ("fp16", "bf16"):
        name = f"allow_{half}_reduced_precision_reduction"
        setattr(torch.backends.cuda.matmul, name, not before[f"torch.backends.cuda.matmul.{name}"])
    changed = flags.read()
    flags.write(before)
    assert not [name for name in before if changed[name] == before[name]]
    assert flags.read() == before
