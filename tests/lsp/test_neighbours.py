"""Files that import from their own folder, not saved and of the same names in two folders, in one server."""

from lsp.editor import Editor
from lsp.examples import LINEAR_SUM

USING = """\
import torch
from helper import factor


def scaled(x):
    return torch.mul(x, factor())


# workload: scaled(randn(8, 16))
"""


async def test_unsaved_texts_import_from_the_folder_of_their_own_file(code: Editor) -> None:
    for name, helper in (
        ("one", "def factor():\n    return 2.0\n"),
        ("two", "raise ValueError('of two')\n"),
        ("none", ""),
    ):
        (code.folder / name).mkdir()
        if helper:
            (code.folder / name / "helper.py").write_text(helper)
    for name, expected in (("one", "passed"), ("two", "of two"), ("none", "imports 'helper'"), ("one", "passed")):
        uri = code.open(f"{name}/kernel.py", USING)  # never saved: there is no such file
        await code.command("kernelwright.resetBaseline", {"uri": uri, "kernel": "scaled"})
        answer = await code.command("kernelwright.verify", {"uri": uri, "kernel": "scaled"})
        assert expected in str(answer), answer
        code.close(uri)


async def test_a_step_in_a_file_that_imports_its_neighbours(code: Editor) -> None:
    (code.folder / "sizes.py").write_text("FEATURES = 512\n")
    text = LINEAR_SUM.replace("import torch\n", "import torch\nfrom sizes import FEATURES\n", 1).replace(
        "512", "FEATURES"
    )
    uri = code.open("model.py", text)
    about = {"uri": uri, "kernel": "Model", "strategy": "torch.reassociate"}
    step = await code.command("kernelwright.apply", about)
    assert step["outcome"] == "kept", step["reason"]
