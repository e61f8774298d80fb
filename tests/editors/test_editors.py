"""Neovim and Emacs, set up as docs/editors.md says, with the real server and a real worker on the CPU.

Each editor plays the person of its driver, `neovim.lua` or `emacs.el`, and writes what it saw as JSON. Where the
environment says EDITORS=required, as CI does, an editor that is missing is a failure.
"""

import contextlib
import fcntl
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import termios
import threading
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LIMIT = 400.0  # seconds for a whole play on a busy machine; a calm one takes 20
LEAVING = 30.0  # seconds in which the server and its workers have to be gone after the editor


@dataclass(frozen=True)
class Program:
    """An editor, how to ask for its version, and what Debian calls it."""

    command: str
    probe: tuple[str, ...]
    packages: str


NEOVIM = Program("nvim", ("--version",), "neovim")
EMACS = Program("emacs", ("--batch", "--eval", "(progn (package-initialize) (require 'eglot))"), "emacs-nox elpa-eglot")


def needed(program: Program) -> str:
    """What the probe printed; without the editor the test fails where editors are required and is skipped elsewhere."""
    if shutil.which(program.command):
        probe = subprocess.run([program.command, *program.probe], capture_output=True, text=True, check=False)
        if probe.returncode == 0:
            return probe.stdout
    if os.environ.get("EDITORS") == "required":
        pytest.fail(f"{program.command} is missing or incomplete: .ci/run should have installed {program.packages}")
    pytest.skip(f"Install {program.packages} to play this editor.")


def snippets(language: str) -> list[str]:
    """The code blocks of docs/editors.md in this language, in order."""
    page = (ROOT / "docs" / "editors.md").read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """An example in a workspace of its own, on sizes for which Triton's interpreter takes seconds."""
    text = (ROOT / "examples" / "triton_softmax.py").read_text(encoding="utf-8")
    text, count = re.subn(r"(^# workload: .*\n)+", "# workload: softmax(randn(4, 200))\n", text, flags=re.MULTILINE)
    assert count == 1
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    (workspace / "softmax.py").write_text(text, encoding="utf-8")
    return workspace / "softmax.py"


def play(file: Path, home: Path, *command: str) -> dict:
    """What an editor saw. It runs in a terminal of its own and leaves no process behind."""
    result = home / "seen.json"
    environment = {
        **os.environ,
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "TERM": "xterm",
        "CUDA_VISIBLE_DEVICES": "",
        "FILE": str(file),
        "RESULT": str(result),
    }
    terminal, end = pty.openpty()
    editor = subprocess.Popen(
        command,
        cwd=file.parent,
        env=environment,
        stdin=end,
        stdout=end,
        stderr=end,
        start_new_session=True,
        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
    )
    os.close(end)
    screen: list[bytes] = []
    threading.Thread(target=drain, args=(terminal, screen), daemon=True).start()
    try:
        editor.wait(LIMIT)
    except subprocess.TimeoutExpired:
        os.killpg(editor.pid, signal.SIGKILL)
        pytest.fail(f"{command[0]} did not end within {LIMIT:g} s: {b''.join(screen)[-2000:]!r}")
    left = remaining(f"RESULT={result}")
    assert result.exists(), b"".join(screen)[-2000:]
    assert not left, f"processes were left: {left}"
    return json.loads(result.read_text(encoding="utf-8"))


def drain(terminal: int, screen: list[bytes]) -> None:
    """An editor whose output nobody reads would stop."""
    with contextlib.suppress(OSError):  # how the end of a terminal is told
        while part := os.read(terminal, 65536):
            screen.append(part)


def remaining(mark: str) -> list[str]:
    """The command lines of processes with this in their environment that do not end."""
    name, _, value = mark.partition("=")
    deadline = time.monotonic() + LEAVING
    while True:
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if process.environ().get(name) == value:
                    found.append(" ".join(process.cmdline()))
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.2)


def check(seen: dict, card: str) -> None:
    assert "error" not in seen, seen
    (finding,) = seen["findings"]
    assert "Lanes outside the mask are undefined" in finding
    assert card in seen["card"]
    assert "softmax(randn(4, 200))" in seen["card"]
    assert "Baseline: the file as it is" in seen["card"]
    assert seen["menu"][0] == "Optimize kernel: Reduce rows online"  # no next step, as nothing can be measured here
    assert "Optimize kernel: Tune launch constants" not in seen["menu"]  # it needs a GPU, and no reason is shown here
    assert "new_row_max = tl.maximum(row_max, tl.max(x, axis=0))" in seen["optimized"]
    (verdict,) = seen["verdict"]
    assert re.search(r"Verified: passed \d+ checks .*in Triton's interpreter", verdict)
    assert "speed not measured: no GPU here" in verdict
    assert seen["undone"]


def test_neovim(file: Path, tmp_path: Path) -> None:
    major, minor = re.search(r"NVIM v(\d+)\.(\d+)", needed(NEOVIM)).groups()
    current, older = snippets("lua")
    init = tmp_path / "init.lua"
    init.write_text(current if (int(major), int(minor)) >= (0, 11) else older, encoding="utf-8")
    driver = f"luafile {HERE / 'neovim.lua'}"
    seen = play(file, tmp_path, "nvim", "--headless", "-u", str(init), "-i", "NONE", "-n", str(file), "-c", driver)
    check(seen, "**softmax_kernel**: Triton kernel")
    assert any("Verifying" in words for words in seen["progress"])
    assert seen["progress"][-1].startswith("Reduce rows online")
    assert not seen["messages"], "progress and diagnostics say it all"


def test_emacs(file: Path, tmp_path: Path) -> None:
    needed(EMACS)
    (init,) = snippets("elisp")
    (tmp_path / ".emacs.d").mkdir()
    (tmp_path / ".emacs.d" / "init.el").write_text(init, encoding="utf-8")
    seen = play(file, tmp_path, "emacs", "-nw", "--no-splash", "--load", str(HERE / "emacs.el"))
    check(seen, "softmax_kernel: Triton kernel")
    assert seen["blocked"] < 5, "Emacs stood still while the step was running"
    assert "edit" in seen["asked"]
    assert any("Optimize softmax_kernel is running" in message for message in seen["messages"])


@pytest.mark.parametrize("number", [0, 1])
def test_each_lua_snippet_can_be_read(number: int, tmp_path: Path) -> None:
    needed(NEOVIM)
    (tmp_path / "init.lua").write_text(snippets("lua")[number], encoding="utf-8")
    read = (
        f"lua local fine, why = loadfile([[{tmp_path / 'init.lua'}]]) if not fine then print(why) vim.cmd('cquit') end"
    )
    ended = subprocess.run(["nvim", "--headless", "-u", "NONE", "-i", "NONE", "-c", read, "-c", "quit"], check=False)
    assert ended.returncode == 0


def test_the_other_snippets_can_be_read() -> None:
    (helix,) = snippets("toml")
    read = tomllib.loads(helix)
    assert read["language-server"]["kernelwright"]["args"] == ["serve"]
    assert "kernelwright" in read["language"][0]["language-servers"]
    (code,) = snippets("json")
    schema = json.loads((ROOT / "vscode-client" / "settings.schema.json").read_text(encoding="utf-8"))
    assert set(json.loads(code)) <= set(schema["properties"])
