"""A kernel whose launcher is in another file: the lens says where, brings a line from there, and then the next step."""

from pathlib import Path

import pytest

from lsp.editor import ROOT, Editor

KERNELS, _, LAUNCHER = (ROOT / "examples/triton_softmax.py").read_text().partition("\n\n# workload")
HEAD = "import torch\nimport triton\n\nfrom kernels import softmax_kernel\n\n\n"
LAYERS = HEAD + LAUNCHER[LAUNCHER.index("def softmax") :]


@pytest.fixture
def split(code: Editor) -> Editor:
    """The example as two files on the disk."""
    (code.folder / "kernels.py").write_text(KERNELS)
    (code.folder / "layers.py").write_text(LAYERS)
    return code


async def _lens(editor: Editor, uri: str) -> tuple[str, str]:
    (lens,) = await editor.lenses(uri)
    assert lens.command is not None
    return lens.command.title, lens.command.command


async def test_from_the_lens_to_a_step(split: Editor) -> None:
    uri = split.open("kernels.py", KERNELS)
    assert await _lens(split, uri) == (
        "No workload: take one from softmax in layers.py",
        "kernelwright.infer",
    )
    about = {"uri": uri, "kernel": "softmax_kernel"}
    answer = await split.command("kernelwright.infer", about)
    assert answer["$"] == "Inferred", answer
    (line,) = answer["lines"]
    assert line.startswith("# workload: softmax_kernel[("), line
    assert line.endswith(", BLOCK=1024)"), "as the other file launches it"
    assert f"{line}\n@triton.jit\ndef softmax_kernel(" in split.texts[uri]
    title, command = await _lens(split, uri)
    assert title.startswith("Optimize kernel")
    assert title.endswith(" · launched by softmax in layers.py")
    assert command == "kernelwright.optimize"
    step = await split.command("kernelwright.apply", {**about, "strategy": "triton.online-reduction"})
    assert step["outcome"] == "kept", step["reason"]
    assert "new_row_max" in split.texts[uri]
    assert (split.folder / "layers.py").read_text() == LAYERS


async def test_what_is_open_counts_as_it_is_there(split: Editor) -> None:
    uri, layers = split.open("kernels.py", KERNELS), split.open("layers.py", LAYERS)
    for old, new, title in (
        ("def softmax(", "def normalised(", "No workload: take one from normalised in layers.py"),
        ("softmax_kernel[", "print[", "No workload: record one from a test or script"),
    ):
        split.type(layers, old, new)
        split.save(uri)  # which is when others are looked at again
        assert (await _lens(split, uri))[0] == title


async def test_a_file_without_a_folder_of_its_own(split: Editor, tmp_path_factory: pytest.TempPathFactory) -> None:
    """What lies beside a file outside of the workspace is looked at, and nothing below."""
    place: Path = tmp_path_factory.mktemp("outside") / "here"
    split.move_to(place)
    (place / "below").mkdir()
    (place / "below" / "layers.py").write_text(LAYERS)
    uri = split.open("kernels.py", KERNELS)
    assert (await _lens(split, uri))[0] == "No workload: record one from a test or script"
    (place / "layers.py").write_text(LAYERS)
    split.save(uri)
    assert (await _lens(split, uri))[0] == "No workload: take one from softmax in layers.py"
