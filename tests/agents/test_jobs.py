"""Long jobs: cancelled in the middle, two at once, and ended with their server."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import psutil

from agents.agent import Agent, at_work, until
from cli.terminal import kernelwright
from lsp.examples import PLAIN, SLOW, SOFTMAX

COLD = True  # processes are looked for below this one
CLAMPED = PLAIN.replace("y.clamp(min=0.0)", "torch.clamp(y, min=0.0)")
SLOWER = SLOW.replace("* 2.0", "* (1.0 + 1.0)")
RECIPROCAL = SOFTMAX.replace("x / tl.sum(x, axis=0)", "x * (1.0 / tl.sum(x, axis=0))")


def processes() -> list[psutil.Process]:
    """All processes below this one: servers, their workers, and what these run."""
    return [one for one in psutil.Process().children(recursive=True) if one.is_running()]


async def test_a_request_that_is_cancelled_ends_its_job_within_a_second(agent: Agent) -> None:
    file, started = agent.write("slow.py", SLOW), agent.folder / "started"
    what = {"file": "slow.py", "kernel": "slow", "text": SLOWER}
    call = asyncio.ensure_future(agent.ask("keep_step", strategy="torch.fuse-pointwise", **what))
    await until(started.exists)
    busy = processes()
    call.cancel()
    await until(lambda: sum(one.is_running() for one in busy) < len(busy), seconds=1.0)
    agent.write("plain.py", PLAIN)
    async with asyncio.timeout(30):  # the job, which would have slept for a minute, holds its turn no longer
        verified = await agent.data("verify", file="plain.py", kernel="scaled", text=CLAMPED)
    assert verified["verdict"]["passed"]
    assert file.read_text() == SLOW
    assert (await agent.data("history", file="slow.py"))["steps"] == []
    assert not agent.journal_begun


async def test_a_recording_that_is_cancelled_ends_its_command(agent: Agent) -> None:
    file, started = agent.write("slow.py", SLOW), agent.folder / "started"
    started.unlink(missing_ok=True)
    agent.write("bench.py", "import torch\nfrom slow import slow\nslow(torch.ones(8))\n")
    call = asyncio.ensure_future(agent.ask("record_workloads", command=["python", "bench.py"], write=True))
    await until(started.exists)
    busy = [one for one in processes() if "bench.py" in one.cmdline()]
    assert busy
    call.cancel()
    await until(lambda: not any(one.is_running() for one in busy), seconds=1.0)
    assert file.read_text() == SLOW


async def test_two_calls_at_once_are_both_answered(agent: Agent) -> None:
    """And of two steps on the same text, the second is one on what the first has left."""
    file = agent.write("softmax.py", SOFTMAX)
    agent.write("plain.py", PLAIN)
    what = {"file": "softmax.py", "kernel": "softmax_kernel", "text": RECIPROCAL, "strategy": "triton.tune-launch"}
    first, second, verified = await asyncio.gather(
        agent.ask("keep_step", **what),
        agent.ask("keep_step", **what),
        agent.data("verify", file="plain.py", kernel="scaled", text=CLAMPED),
    )
    assert verified["verdict"]["passed"]
    assert sorted([first.is_error, second.is_error]) == [False, True]
    assert file.read_text() == RECIPROCAL
    assert len((await agent.data("history", file="softmax.py"))["steps"]) == 1


async def test_a_file_that_a_person_changes_meanwhile_is_not_overwritten(agent: Agent) -> None:
    file = agent.write("shared.py", SOFTMAX)
    what = {"file": "shared.py", "kernel": "softmax_kernel", "text": RECIPROCAL, "strategy": "triton.tune-launch"}
    agent.stages.clear()
    call = asyncio.ensure_future(agent.refused("keep_step", **what))
    await until(lambda: "Verifying" in agent.stages)
    file.write_text(f"{SOFTMAX}\n# mine\n")
    assert "changed while it was being optimised; nothing was written" in await call
    assert file.read_text() == f"{SOFTMAX}\n# mine\n"
    steps = (await agent.data("history", file="shared.py"))["steps"]
    assert [step["outcome"] for step in steps] == ["reverted"]


async def test_nothing_is_left_running_when_the_agent_is_gone(tmp_path: Path) -> None:
    before = processes()
    async with at_work(tmp_path, cold=True) as agent:
        agent.write("slow.py", SLOW)
        call = asyncio.ensure_future(agent.ask("verify", file="slow.py", kernel="slow", text=SLOWER))
        await until((tmp_path / "started").exists)
        call.cancel()
    await until(lambda: [one for one in processes() if one not in before] == [], seconds=5.0)


def test_nothing_but_the_protocol_is_written_to_stdout(tmp_path: Path) -> None:
    (tmp_path / "plain.py").write_text(PLAIN)
    (tmp_path / "run.py").write_text("import torch\nfrom plain import scaled\nprint('loud')\nscaled(torch.ones(3))\n")
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "0"}}
    call = {"name": "record_workloads", "arguments": {"command": ["python", "run.py"]}}
    messages = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    ]
    command = [sys.executable, "-m", "kernelwright", "mcp"]
    with subprocess.Popen(command, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.writelines(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages)
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in (1, 2)]
        server.stdin.close()
        assert server.stdout.read() == ""
    assert [answer["id"] for answer in answers] == [1, 2]
    assert "scaled(ones(3))" in answers[1]["result"]["content"][0]["text"]
    assert server.returncode == 0


def test_what_is_no_folder_or_not_installed_is_told_before_the_protocol(tmp_path: Path) -> None:
    ended = kernelwright("mcp", "--workspace", tmp_path / "absent")
    assert (ended.exit_code, ended.stdout) == (2, "")
    assert "absent is not a folder; name the folder of your project." in " ".join(ended.stderr.split())
    program = "import sys; sys.modules['mcp'] = None; from kernelwright.cli.main import main; main()"
    gone = subprocess.run([sys.executable, "-c", program, "mcp"], capture_output=True, text=True, check=False)
    assert (gone.returncode, gone.stdout) == (3, "")
    assert "pip install 'kernelwright[mcp]'" in gone.stderr
