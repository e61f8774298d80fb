"""The scenario of `benchmarks/lsp_scenario.py` plays to its end, and tells where it does not."""

import json
import re
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks.figures import BENCHMARKS
from benchmarks.lsp_play import EXAMPLES, Scene
from benchmarks.lsp_scenario import SCENES, markdown, play


@pytest.fixture
def softmax(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Scene:
    """The Triton scene on the CPU, on sizes for which Triton's interpreter takes seconds."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    (scene,) = (scene for scene in SCENES if scene.file == "triton_softmax.py")
    text = (EXAMPLES / scene.file).read_text(encoding="utf-8")
    text = re.sub(r"(^# workload: .*\n)+", "# workload: softmax(randn(4, 200))\n", text, flags=re.MULTILINE)
    (tmp_path / scene.file).write_text(text, encoding="utf-8")
    return replace(scene, folder=tmp_path)


async def test_a_scene_is_played_to_its_end(softmax: Scene, capsys: pytest.CaptureFixture[str]) -> None:
    record, surprise = await play([softmax], {"threads": 1}, sys.executable)
    assert surprise == ""
    (scene,) = json.loads(json.dumps(record))["scenes"]
    assert scene["step"]["outcome"] == "kept"
    assert [stage["name"] for stage in scene["stages"]][-1] == "Revert"
    found = BENCHMARKS["lsp_scenario"](record)
    assert str(found.conditions["device"]).endswith("CPU cores")
    assert found.conditions["settings"] == {"windows": 1, "server": {"threads": 1}}
    assert [step[:5] for step in found.tables["steps"].rows] == [
        (1, softmax.file, softmax.kernel, "triton.online-reduction", "kept")
    ]
    page = markdown(record)
    assert "- Optimize kernel: Tune launch constants: Choosing launch constants needs a GPU" in page
    assert re.search(r"information, triton.online-reduction: Verified: passed \d+ checks", page)
    assert "line 20, warning, triton.masked-load-reduced" in capsys.readouterr().out


async def test_a_surprise_ends_the_play_and_is_told(softmax: Scene) -> None:
    file = softmax.folder / softmax.file
    file.write_text(file.read_text(encoding="utf-8").replace("randn(4, 200)", "rndn(4, 200)"), encoding="utf-8")
    record, surprise = await play([softmax], {}, sys.executable)
    assert surprise.startswith("triton_softmax.py, after 'Out of it': The card is")
    assert surprise in markdown(record)
