"""What an import draws once is held against nobody, however long ago the judge has made it; what a text draws is."""

from pathlib import Path

import pytest

from proof.worker.trials import ended_by

ROWS = "f(randn(48, 65))"
HEAD = "import torch\n\n\ndef f(x):\n    "
LAZY = "from {package} import lazy\n\n    "
SOFTMAX, ALIKE = "return torch.softmax(x, dim=1)\n", "return torch.exp(torch.log_softmax(x, dim=1))\n"
ONCE = "global once\n    if 'once' not in globals():\n        once = {what}\n    "


def _file(folder: Path, package: str, drawing: str) -> str:
    """Where a text lies that may import `lazy` from its package, which draws when it is imported."""
    for each in (folder / package, folder / package / "kernels"):
        each.mkdir()
        (each / "__init__.py").touch()
    (folder / package / "lazy.py").write_text(drawing)
    return str(folder / package / "kernels" / "kernel.py")


@pytest.mark.parametrize(
    ("package", "drawing"),
    [
        ("drawing_by_torch", "import torch\n\ntorch.rand(3)\n"),
        ("drawing_by_python", "import random\n\nrandom.random()\n"),
        ("drawing_by_numpy", "import numpy\n\nnumpy.random.rand(3)\n"),
    ],
)
def test_what_a_first_call_imports_may_draw(package: str, drawing: str, tmp_path: Path) -> None:
    path, lazy = _file(tmp_path, package, drawing), LAZY.format(package=package)
    baseline = HEAD + lazy + SOFTMAX
    for honest in (baseline, baseline, HEAD + lazy + ALIKE, HEAD + ALIKE):
        assert ended_by(baseline, honest, ROWS, path=path) == "passed"


def test_what_a_text_draws_beside_such_an_import_is_seen(tmp_path: Path) -> None:
    package = "drawing_beside"
    path, lazy = _file(tmp_path, package, "import torch\n\ntorch.rand(3)\n"), LAZY.format(package=package)
    baseline = HEAD + lazy + SOFTMAX
    assert ended_by(baseline, baseline, ROWS, path=path) == "passed"
    for drawn in (
        "torch.rand(3)\n    ",
        "torch.manual_seed(3)\n    ",
        ONCE.format(what="torch.rand(1)"),
        ONCE.format(what="torch.manual_seed(3)"),
    ):
        for imported in (lazy, ""):
            candidate = HEAD + imported + drawn + SOFTMAX
            assert ended_by(baseline, candidate, ROWS, path=path) == "random-state", candidate


def test_a_text_that_draws_in_its_first_call_is_seen() -> None:
    for what in ("torch.rand(1)", "torch.manual_seed(3)"):
        assert ended_by(HEAD + SOFTMAX, HEAD + ONCE.format(what=what) + SOFTMAX, ROWS) == "random-state"
