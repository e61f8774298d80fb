"""Agents that would rather have a number than a right kernel: each is refused in a sentence, or rejected by the gate."""

from pathlib import Path

import corpus
import pytest

from agents.agent import Agent, said
from cheats.outcome import file_of
from kernelwright.languages.python import SUPPORT
from lsp.examples import SOFTMAX

FILE = SOFTMAX + "\n\ndef other(x):\n    return x\n"
BODY = "    x = tl.exp(x - tl.max(x, axis=0))\n"
DIVIDED = "x / tl.sum(x, axis=0)"
LAUNCH = "    y = torch.empty_like(x)\n"

REFUSED = [
    (
        "another function",
        ("    return x\n", "    return x + 0\n"),
        "`def other(x):`) is outside of what may be changed",
    ),
    (
        "the workload line",
        ("randn(16, 100)", "randn(1, 1)"),
        "Line 22 (`# workload: softmax(randn(16, 100))`) is outside",
    ),
    ("another workload line", ("# workload", "# workload: softmax(randn(2, 2))\n# workload"), "must stay as they are"),
    ("a module that is not allowed", ("import torch\n", "import torch\nimport os\n"), "The module `os` is not allowed"),
    ("an import inside", (LAUNCH, f"    import os\n{LAUNCH}"), "The module `os` is not allowed"),
    ("a timer", (LAUNCH, f"    torch.cuda.synchronize()\n{LAUNCH}"), "touches timers, which is not allowed"),
    ("a state", (LAUNCH, f"    global kept\n{LAUNCH}"), "keeps state between calls"),
    (
        "a statement that runs at once",
        ("import torch\n", "import torch\ntorch.ones(1)\n"),
        "may not be added to the file",
    ),
    ("a name with another meaning", ("def softmax(", "tl = torch\n\n\ndef softmax("), "`tl` another meaning"),
    ("the kernel's name", ("softmax_kernel", "renamed_kernel"), "must stay defined once"),
    ("nothing", ("", ""), "nothing to try"),
    ("no Python", (BODY, "    x = (\n"), "does not parse at line"),
    ("too deep for a parser", (DIVIDED, "-" * 100_000 + "x"), "nested too deeply"),
]


@pytest.mark.parametrize(("change", "sentence"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
@pytest.mark.parametrize("tool", ["verify", "measure", "keep_step"])
async def test_what_may_not_be_edited_is_refused_before_it_runs(
    agent: Agent, tool: str, change: tuple[str, str], sentence: str
) -> None:
    assert change[0] in FILE
    file = agent.write("softmax.py", FILE)
    strategy = {"strategy": "triton.tune-launch"} if tool == "keep_step" else {}
    text = FILE.replace(*change) if change[0] else FILE
    agent.stages.clear()
    refusal = await agent.refused(tool, file="softmax.py", kernel="softmax_kernel", text=text, **strategy)
    assert sentence in refusal
    assert agent.stages == []
    assert file.read_text() == FILE
    assert not agent.journal_begun


@pytest.mark.parametrize(
    "name", ["b03_layer_norm_of_normal_data", "c06_only_square", "b14_scalar_written_into_the_text"]
)
async def test_what_is_right_for_the_workload_alone_gets_no_number(agent: Agent, name: str) -> None:
    case = corpus.case("exploits", name)
    before, after = file_of(case, case.baseline), file_of(case, case.candidate)
    file = agent.write("exploit.py", before)
    kernel = SUPPORT.kernels(before)[0].name
    answer = await agent.ask("measure", file="exploit.py", kernel=kernel, text=after)
    assert answer.structured_content is not None
    verdict = answer.structured_content["verdict"]
    assert not verdict["passed"]
    failed = {row["name"] for row in verdict["checks"] if row["passed"] < row["cases"]}
    assert failed & case.expected
    assert (answer.structured_content["speedup"], answer.structured_content["unmeasured"]) == (None, "")
    assert "faster" not in said(answer)
    assert file.read_text() == before
    assert not agent.journal_begun


@pytest.mark.parametrize(
    "why", ["3.1x faster", "3x", "takes 2 ms now", "saves 40 %", "a large speedup", "half the time, 2 times better"]
)
async def test_no_number_is_told_by_way_of_the_history(agent: Agent, why: str) -> None:
    agent.write("softmax.py", FILE)
    what = {"file": "softmax.py", "kernel": "softmax_kernel", "strategy": "triton.tune-launch", "why": why}
    assert "not how fast it is" in await agent.refused("keep_step", text=FILE.replace(BODY, f"{BODY}\n"), **what)
    assert not agent.journal_begun


async def test_only_files_of_the_workspace_are_looked_at(agent: Agent, tmp_path: Path) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text(SOFTMAX)
    link, folder = agent.folder / "link.py", agent.folder / "folder"
    link.symlink_to(outside)
    folder.symlink_to(tmp_path)
    ring = agent.folder / "ring.py"
    ring.symlink_to(ring)
    relative = f"../{tmp_path.name}/outside.py"
    for named in (str(outside), relative, "link.py", "folder/outside.py", "/etc/passwd"):
        what = {"file": named, "kernel": "softmax_kernel"}
        for tool, more in (
            ("list_kernels", {}),
            ("history", {}),
            ("keep_step", {"strategy": "triton.tune-launch", "text": SOFTMAX.replace(BODY, "")}),
            ("revert", {}),
            ("infer_workloads", {"write": True}),
        ):
            arguments = {"file": named} if tool in ("list_kernels", "revert", "infer_workloads") else what
            assert "is outside of the workspace" in await agent.refused(tool, **arguments, **more)
        assert "is outside of the workspace" in await agent.refused("record_workloads", command=["python", named])
    assert "ring.py" in await agent.refused("list_kernels", file="ring.py")
    assert "is no path" in await agent.refused("list_kernels", file="a\0b.py")
    assert outside.read_text() == SOFTMAX
    assert not agent.journal_begun


@pytest.mark.parametrize(
    "command", [["rm", "softmax.py"], ["python", "-c", "print()"], ["python"], [], ["pytest", "absent.py"]], ids=str
)
async def test_only_tests_and_scripts_of_the_workspace_are_run(agent: Agent, command: list[str]) -> None:
    agent.write("softmax.py", FILE)
    assert "of this workspace" in await agent.refused("record_workloads", command=command)


async def test_a_workload_that_is_there_stays(agent: Agent) -> None:
    file = agent.write("softmax.py", FILE)
    agent.write("easy.py", "import torch\nfrom softmax import softmax\nsoftmax(torch.zeros(1, 1))\n")
    recorded = await agent.data("record_workloads", command=["python", "easy.py"], write=True)
    assert [row["lines"] for row in recorded["entries"]] == [["softmax(zeros(1, 1))"]]
    assert recorded["written"] == []
    assert file.read_text() == FILE


async def test_what_is_asked_wrongly_is_told_in_a_sentence(agent: Agent) -> None:
    agent.write("softmax.py", FILE)
    what = {"file": "softmax.py", "kernel": "softmax_kernel"}
    changed = FILE.replace(BODY, f"{BODY}\n")
    for sentence, tool, arguments in (
        ("Give either `text`", "verify", what),
        ("Give either `text`", "verify", what | {"text": changed, "blocks": changed}),
        ("no block that begins with", "verify", what | {"blocks": changed}),
        ("has no kernel 'nothing'; it has softmax_kernel.", "verify", what | {"kernel": "nothing", "text": FILE}),
        ("There is no strategy 'magic' for triton", "keep_step", what | {"strategy": "magic", "text": changed}),
        ("There is no strategy 'torch.fuse-scan'", "action_prompt", what | {"strategy": "torch.fuse-scan"}),
        ("absent.py does not exist.", "list_kernels", {"file": "absent.py"}),
        ("The argument file of list_kernels cannot be used: Field required.", "list_kernels", {}),
        ("There is no tool 'magic'; there are list_kernels, ", "magic", {}),
        ("has no kept step of softmax.py", "revert", {"file": "softmax.py"}),
        ("has no kept step of softmax.py", "export", {"file": "softmax.py"}),
    ):
        assert sentence in await agent.refused(tool, **arguments)
