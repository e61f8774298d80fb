import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.proof.jobs import Capture, Probe, Subject, Trial
from kernelwright.proof.worker.frames import (
    HEADER,
    BadFrame,
    Frame,
    Hello,
    Ready,
    Reply,
    Request,
    Stage,
    TooOld,
    body_length,
    pack,
    unpack,
)
from kernelwright.values import Case, Failure, FailureKind, Workload, WorkloadSource

LINES = Workload(WorkloadSource.LINES, "f", (Case(0, 0, "f(1)"),))


@pytest.mark.parametrize(
    "frame",
    [
        Hello(),
        Ready(),
        TooOld("3.9"),
        Request(1, Probe()),
        Request(2, Capture(Subject("/a/ü.py", "x = 'ß\ud800'\n", LINES))),
        Request(3, Trial("/a.py", "a", "b", "c", LINES, measure=False)),
        Stage(3, "timing"),
        Reply(3, Failure(FailureKind.CRASHED, "gone", "…", 4), spent=True),
    ],
)
def test_a_frame_comes_back_as_it_went(frame: Frame) -> None:
    data = pack(frame)
    assert body_length(data[: HEADER.size]) == len(data) - HEADER.size
    assert unpack(data[HEADER.size :]) == frame


@given(st.binary(min_size=HEADER.size, max_size=HEADER.size))
def test_other_bytes_are_no_header(header: bytes) -> None:
    if header.startswith(b"KWF1"):
        return
    with pytest.raises(BadFrame):
        body_length(header)


@given(st.one_of(st.binary(max_size=64), st.text(max_size=20).map(str.encode)))
def test_other_bytes_are_no_frame(body: bytes) -> None:
    with pytest.raises(BadFrame):
        unpack(body)
