"""How messages come in: from a pipe in the event loop, and from whatever else stdin may be."""

import asyncio
import json
import os
import socket
import subprocess
import sys
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from kernelwright.lsp.stdio import Messages, can_wait

SECONDS = 30.0
_SERVER = [sys.executable, "-m", "kernelwright.lsp"]


def _message(method: str, number: int | None = None, **params: object) -> bytes:
    said = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})
    body = json.dumps(said).encode()
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


_SESSION = (
    _message("initialize", 1, processId=None, rootUri=None, capabilities={})
    + _message("shutdown", 2)
    + _message("exit")
)


async def _read(data: bytes, *asked: int | None) -> list[bytes]:
    """What is read of a pipe that ends after `data`: lines for None, and so many bytes for a number."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as source:
        messages = await Messages.of(source)
        with os.fdopen(writing, "wb") as sink:
            sink.write(data)
        return [await (messages.readline() if count is None else messages.readexactly(count)) for count in asked]


@given(st.binary(max_size=2000), st.binary(max_size=20))
def test_lines_and_bodies_come_as_they_were_written(body: bytes, line: bytes) -> None:
    header = line.replace(b"\n", b"") + b"\n"
    assert asyncio.run(_read(header + body + header, None, len(body), None, None)) == [header, body, header, b""]


def test_a_message_that_is_cut_off_is_the_end() -> None:
    assert asyncio.run(_read(b"Content-Length: 9\r\n\r\n{}", None, None, 9, None))[2:] == [b"", b""]


def test_a_line_without_an_end_is_dropped() -> None:
    async def read() -> bytes:
        stream = asyncio.StreamReader(limit=16)
        stream.feed_data(b"x" * 100)
        return await Messages(stream).readline()

    assert asyncio.run(read()) == b"\n"


def test_only_a_pipe_of_its_own_is_waited_for(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    one, other = socket.socketpair()
    with one, other, (tmp_path / "messages").open("w+b") as file:
        assert can_wait(reading, writing) is False  # one pipe with both its ends
        assert can_wait(reading, one.fileno())
        assert can_wait(one.fileno(), writing)
        assert can_wait(one.fileno(), other.fileno())
        assert not can_wait(one.fileno(), one.fileno())
        assert not can_wait(file.fileno(), writing)
    os.close(reading)
    os.close(writing)


def test_the_server_reads_a_file_too(tmp_path: Path) -> None:
    (tmp_path / "messages").write_bytes(_SESSION)
    with (tmp_path / "messages").open("rb") as source:
        done = subprocess.run(_SERVER, stdin=source, capture_output=True, timeout=SECONDS, check=False)
    assert b'"serverInfo"' in done.stdout, done.stderr
    assert b'"id":2' in done.stdout.replace(b" ", b"")


def test_the_server_reads_and_writes_one_socket() -> None:
    ours, its = socket.socketpair()
    with ours, its, subprocess.Popen(_SERVER, stdin=its, stdout=its) as server:
        its.close()
        ours.settimeout(SECONDS)
        ours.sendall(_SESSION)
        said = b"".join(iter(lambda: ours.recv(1 << 16), b""))
        assert server.wait(SECONDS) == 0
    assert b'"serverInfo"' in said


def test_an_editor_that_is_gone_ends_the_server() -> None:
    with subprocess.Popen(_SERVER, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        server.stdin.write(_SESSION[:200])
        server.stdin.close()
        assert server.wait(SECONDS) == 0


def test_messages_that_cannot_be_read_are_answered_once_and_raise_no_windows() -> None:
    """Three requests with parameters of the wrong form, two notifications, a bare number and no JSON at all."""
    bad = [
        _message("textDocument/hover", 11, textDocument=3),
        _message("workspace/executeCommand", 12, command=["kernelwright.verify"], arguments=7),
        _message("textDocument/codeAction", 13),
        _message("textDocument/didOpen", None, textDocument="here"),
        _message("textDocument/didChange", None, contentChanges={}),
        b"Content-Length: 1\r\n\r\n7",
        b"Content-Length: 3\r\n\r\n{]}",
    ]
    start = _message("initialize", 1, processId=None, rootUri=None, capabilities={})
    ended = subprocess.run(
        _SERVER,
        input=start + b"".join(bad) + _message("shutdown", 2) + _message("exit"),
        capture_output=True,
        timeout=SECONDS,
    )
    said = [json.loads(part.partition(b"\r\n\r\n")[2]) for part in ended.stdout.split(b"Content-Length:")[1:]]
    codes = {one["id"]: one.get("error", {}).get("code") for one in said if "id" in one}
    codes.pop(2, None)  # may be cut off by the end
    assert codes == {1: None, 11: -32602, 12: -32602, 13: -32602}
    assert ended.returncode == 0
    assert not [one for one in said if one.get("method") == "window/showMessage"]
    assert sum(line.startswith(b"kernelwright.lsp.protocol:") for line in ended.stderr.splitlines()) == 6
