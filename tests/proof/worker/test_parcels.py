"""What a host tells of an output holds nothing of it: no garbage is collected while calls are timed."""

import gc
import weakref

import torch

from kernelwright.proof.worker.hosts.parcels import described


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
