"""What a text reads about its surroundings is told, unless the baseline reads it too."""

import pytest

from kernelwright.proof.worker.gate.added_reads import added_reads
from proof.worker.trials import trial

SOFTMAX = "import torch\n\n\ndef f(x):\n    return torch.softmax(x, dim=1)\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("fast = 'kernelwright' in __file__", "reads its own path"),
        ("import inspect as i\nhere = i.getsource(i)", "reads its own path"),
        ("import sys\nfast = 'pytest' in sys.modules", "reads which modules are loaded"),
        ("from sys import modules", "reads which modules are loaded"),
        ("import sys\ncaller = sys._getframe(1)", "reads its callers"),
        ("fast = 'Seccomp:\\t0' in open('/proc/self/status').read()", "reads the state of its process"),
        ("import datetime\nfast = datetime.datetime.now().year > 2030", "reads the date"),
        ("from time import time", "reads the date"),
        ("import time as t\nnow = t.localtime()", "reads the date"),
    ],
)
def test_what_is_told(text: str, told: str) -> None:
    assert added_reads(text, SOFTMAX) == (told,)
    assert added_reads(text, text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "import time\nstart = time.perf_counter()",  # a text that tunes itself
        '"""Sees nothing of /proc/self or sys.modules."""',
        "import torch\nwidth = x.shape[1]",
        "import sys\nlimit = sys.maxsize",
        "def (",
    ],
)
def test_what_is_not(text: str) -> None:
    assert added_reads(text, SOFTMAX) == ()


def test_it_stands_in_the_first_line() -> None:
    verdict = trial(SOFTMAX, SOFTMAX + "\n\nplace = __file__\n", "f(randn(8, 8))").verdict
    assert verdict.passed
    assert verdict.caveats == ("reads its own path",)
