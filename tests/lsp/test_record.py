"""`kernelwright.record` in an editor: lines from the calls of a test or script, for open files and others."""

import asyncio
import time

import pytest
from lsprotocol import types as lsp

from cuda_program import PROGRAM
from lsp.editor import PATIENCE, Editor

KERNEL = """\
import torch
import triton
import triton.language as tl


@triton.jit
def double_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + offsets, 2 * tl.load(x_ptr + offsets, mask=offsets < n), mask=offsets < n)


def double(x):
    assert x.is_cuda
    out = torch.empty_like(x)
    double_kernel[(triton.cdiv(x.numel(), 64),)](x, out, x.numel(), BLOCK=64)
    return out
"""
TEST = """\
import torch
from double import double


def test_double():
    assert double(torch.ones(3, 40, device="cuda")).sum() == 240


def test_of_one_row():
    double(torch.randn(1, 7, dtype=torch.float16, device="cuda"))
"""
SCRIPT = (
    "import time\nimport torch\nfrom double import double\n\nif __name__ == '__main__':\n    double(torch.ones(5))\n"
)


@pytest.fixture
def project(code: Editor, monkeypatch: pytest.MonkeyPatch) -> Editor:
    """A kernel and its test, on the disk."""
    (code.folder / "double.py").write_text(KERNEL)
    (code.folder / "test_double.py").write_text(TEST)
    return code


async def test_the_test_that_comes_to_a_kernel_gives_it_its_lines(project: Editor) -> None:
    uri = project.open("double.py", KERNEL)
    (lens,) = await project.lenses(uri)
    assert lens.command.title == "No workload: record one from a test or script"
    assert lens.command.command == "kernelwright.record"
    (recorded,) = await project.command("kernelwright.record", {"uri": uri}, token="mine")
    assert recorded["entry"]["name"] == "double"
    written = "".join(f"# workload: {line}\n" for line in recorded["lines"])
    assert project.texts[uri] == KERNEL.replace("def double(x)", written + "def double(x)")
    assert len(recorded["lines"]) == 2
    assert (
        project.messages()[-1] == f"Recorded 2 workload lines for 1 kernel from {project.folder.name}/test_double.py."
    )
    stages = [report.message for report in project.progress() if isinstance(report, lsp.WorkDoneProgressReport)]
    assert any("passed" in stage for stage in stages), stages
    (lens,) = await project.lenses(uri)
    assert lens.command.title.startswith("Optimize kernel")
    (project.folder / "double.py").write_text(project.texts[uri])
    again = await project.command("kernelwright.record", {"uri": uri})
    assert again["reason"] == "The files have these workload lines already."


async def test_from_a_test_lines_go_to_the_files_that_it_comes_to(project: Editor) -> None:
    uri = project.open("test_double.py", TEST)
    kernel = (project.folder / "double.py").as_uri()
    assert await project.command("kernelwright.callers", {"uri": uri}) == [str(project.folder / "test_double.py")]
    (recorded,) = await project.command("kernelwright.record", {"uri": uri})
    assert len(recorded["lines"]) == 2
    assert project.texts[uri] == TEST
    assert all(f"# workload: {line}\n" in project.texts[kernel] for line in recorded["lines"])


async def test_where_several_come_to_it_the_person_chooses(project: Editor) -> None:
    (project.folder / "script.py").write_text(SCRIPT.replace("(5)", "(5, device='cuda')"))
    uri = project.open("double.py", KERNEL)
    test, script = await project.command("kernelwright.callers", {"uri": uri})
    assert (test, script) == (str(project.folder / "test_double.py"), str(project.folder / "script.py"))
    nothing = await project.command("kernelwright.record", {"uri": uri})
    assert nothing["reason"] == "Nothing was run."
    assert [action.title for action in project.asked[0].actions] == [
        f"{project.folder.name}/test_double.py",
        f"{project.folder.name}/script.py",
    ]
    project.answers.append(f"{project.folder.name}/script.py")
    (recorded,) = await project.command("kernelwright.record", {"uri": uri})
    assert recorded["lines"] == ["double(ones(5))"]
    project.type(uri, project.texts[uri], KERNEL)
    (recorded,) = await project.command("kernelwright.record", {"uri": uri, "script": script})
    assert recorded["lines"] == ["double(ones(5))"]


async def test_a_run_that_is_stopped_keeps_what_it_has_called(project: Editor) -> None:
    (project.folder / "script.py").write_text(
        SCRIPT.replace("(5))", "(5, device='cuda'))\n    print('called', flush=True)\n    time.sleep(600)")
    )
    uri = project.open("double.py", KERNEL)
    about = {"uri": uri, "script": str(project.folder / "script.py")}
    running = asyncio.create_task(project.command("kernelwright.record", about, token="mine"))
    await project.until(lambda: any(getattr(report, "message", "") == "called" for report in project.progress()))
    began = time.monotonic()
    project.client.window_work_done_progress_cancel(lsp.WorkDoneProgressCancelParams("mine"))
    (recorded,) = await asyncio.wait_for(running, PATIENCE)
    assert time.monotonic() - began < 10
    assert recorded["lines"] == ["double(ones(5))"]
    assert project.messages()[-1].endswith("script.py. It was stopped.")


async def test_what_gives_no_line_says_why(project: Editor) -> None:
    async def refused(**about: object) -> str:
        answer = await project.command("kernelwright.record", about)
        assert answer["$"] == "Refusal", answer
        return answer["reason"]

    uri = project.open("double.py", KERNEL)
    assert (await refused(uri="file:///nowhere.py")).endswith("is not open in the editor; open it first.")
    assert "gone.py does not exist" in await refused(uri=uri, script=str(project.folder / "gone.py"))
    (project.folder / "fails.py").write_text(
        "import double\n\nif __name__ == '__main__':\n    raise OSError('no data')\n"
    )
    told = await refused(uri=uri, script=str(project.folder / "fails.py"))
    assert told.endswith(
        "called no kernel in a way that a workload line can say. It ended with status 1: OSError: no data."
    )
    project.type(uri, "2 * tl.load", "3 * tl.load")
    assert (await refused(uri=uri)).startswith("Save double.py first")
    project.type(uri, "3 * tl.load", "2 * tl.load")
    (project.folder / "test_double.py").unlink()
    (project.folder / "fails.py").unlink()
    assert "imports double.py; write a workload line, or run" in await refused(uri=uri)
    plain = project.open("plain.py", "x = 1\n")
    (project.folder / "plain.py").write_text("x = 1\n")
    assert await refused(uri=plain) == "plain.py has neither a kernel nor a test, and does nothing when it is run."


async def test_a_program_of_cuda_gives_its_kernels_their_lines(code: Editor) -> None:
    (code.folder / "program.cu").write_text(PROGRAM)
    uri = code.open("program.cu", PROGRAM, "cuda-cpp")
    lens, *_ = await code.lenses(uri)
    assert (lens.command.title, lens.command.command) == (
        "No workload: record one from the program's launches",
        "kernelwright.record",
    )
    assert await code.command("kernelwright.callers", {"uri": uri}) == [str(code.folder / "program.cu")]
    recorded = await code.command("kernelwright.record", {"uri": uri})
    counts = [("scale", 2), ("fill", 1), ("shift", 0), ("rowwise", 1)]
    assert [(one["entry"]["name"], len(one["lines"])) for one in recorded] == counts
    assert f"// workload: {recorded[1]['lines'][0]}\ntemplate <int EACH> __global__ void fill" in code.texts[uri]
    library = code.open("library.cu", PROGRAM.replace("int main", "int begin"), "cuda-cpp")
    (code.folder / "library.cu").write_text(code.texts[library])
    lens, *_ = await code.lenses(library)
    assert (lens.command.title, lens.command.command) == ("No workload: write one that runs", "kernelwright.infer")
    refused = await code.command("kernelwright.record", {"uri": library})
    assert refused["reason"].startswith("library.cu has no main function that could be run")
