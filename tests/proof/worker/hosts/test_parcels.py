"""What a host tells of an output holds nothing of it: no garbage is collected while calls are timed."""

import gc
import weakref

import pytest
import torch

from kernelwright.proof.worker.hosts.parcels import described, put


def test_a_description_does_not_keep_the_output() -> None:
    gc.disable()
    try:
        output = torch.ones(3)
        seen = weakref.ref(output)
        tree, _ = described({"a": [output, None]})
        del output, _
        assert seen() is None
    finally:
        gc.enable()
    first, second = tree["items"][0][1]["items"]
    assert (first, second) == ({"kind": "tensor", "index": 0}, {"kind": "none"})


@pytest.mark.parametrize(
    ("name", "value", "plain"),
    [
        ("_dynamo_propagated_dynamic_indices", {0, 1}, True),
        ("_dynamo_static_indices", frozenset(), True),
        ("_dynamo_marked_static", True, True),
        ("_dynamo_dynamic_indices", {0, "memo"}, False),
        ("_dynamo_source", lambda: None, False),
        ("memo", {0}, False),
    ],
)
def test_only_what_dynamo_notes_may_stand_at_a_tensor(name: str, value: object, plain: bool) -> None:
    tensor = torch.ones(3)
    setattr(tensor, name, value)
    (sent,) = put([tensor], torch.empty(4096, dtype=torch.uint8))
    assert (sent.unusual == "") is plain
