"""Every value survives the way through JSON."""

import json
import math

import pytest

from kernelwright import wire
from kernelwright.proof.jobs import Answer, Contest, Job, Profile, Race, RaceResult, Subject, Trial, TrialResult
from kernelwright.values import (
    Action,
    Case,
    CodeSpan,
    Coverage,
    Failure,
    FailureKind,
    Graph,
    Node,
    Region,
    TensorRef,
    TensorType,
    Timing,
    Value,
    Verdict,
    VerdictStatus,
    Workload,
    WorkloadSource,
)

WORKLOAD = Workload(WorkloadSource.LINES, "f", (Case(3, 12, "f(randn(8))"),))
GRAPH = Graph(
    entry="Model",
    text_hash="0" * 16,
    device="cpu",
    training=False,
    values=(Value(0, TensorType((2, 3), (3, 1), "float32"), "input", "x"),),
    nodes=(
        Node(
            0,
            "add",
            (TensorRef(0), 1, (1, None, (TensorRef(0),)), -math.inf),
            {"alpha": 2.0},
            (0,),
            CodeSpan(1, 2, 3, 4),
        ),
    ),
    outputs=(0,),
)


@pytest.mark.parametrize(
    "value",
    [
        GRAPH,
        TrialResult(
            Verdict(VerdictStatus.PASSED, "t", "b", coverage=Coverage(("k",), ("m",), 9, (3, 4), ((5, 2),), False))
        ),
        RaceResult((Timing(1.0, 0.5, 2.0, 30), Failure(FailureKind.CRASHED, "It crashed.", line=3))),
    ],
)
def test_answers_survive(value: object) -> None:
    assert wire.decode(Answer, json.loads(json.dumps(wire.encode(value)))) == value


@pytest.mark.parametrize(
    "value",
    [
        Trial("p.py", "b", "p", "c", WORKLOAD, language="toy"),
        Race("p.py", "b", ("v", "w"), WORKLOAD, language="toy"),
        Contest("p.py", "b", "c", WORKLOAD, language="toy"),
        Profile(Subject("p.py", "t", WORKLOAD, "toy")),
    ],
)
def test_jobs_survive(value: object) -> None:
    assert wire.decode(Job, json.loads(json.dumps(wire.encode(value)))) == value


def test_a_job_that_names_no_language_is_of_python() -> None:
    job = Trial("p.py", "b", "p", "c", WORKLOAD)
    told = wire.encode_object(job)
    del told["language"]
    assert wire.decode(Job, told) == job
    assert job.language == "python"


def test_missing_fields_take_their_default_and_unknown_ones_are_ignored() -> None:
    region = {"$": "Region", "start_line": 1, "end_line": 2, "text_hash": "h", "colour": "red"}
    assert wire.decode(Action, {"strategy": "s", "region": region}) == Action("s", Region(1, 2, "h"))


@pytest.mark.parametrize("data", [None, [], 3, {"$": "Step"}, {"strategy": 1, "region": {}}])
def test_what_is_not_the_value_is_refused(data: wire.Json) -> None:
    with pytest.raises(wire.NotDecodable):
        wire.decode(Action, data)


def test_nan_survives() -> None:
    assert math.isnan(wire.decode(float, json.loads(json.dumps(wire.encode(math.nan)))))


def test_an_object_takes_further_keys_and_a_list_does_not() -> None:
    told = {**wire.encode_object(Region(1, 2, "h")), "sentence": "Lines 1 and 2."}
    assert wire.decode(Region, told) == Region(1, 2, "h")
    with pytest.raises(TypeError, match="a tuple is no JSON object"):
        wire.encode_object((Region(1, 2, "h"),))
