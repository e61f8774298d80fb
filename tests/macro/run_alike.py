"""Run by `interpreted`: calls two Triton texts alike, in the interpreter as the gate has it, and compares the answers.

Reads JSON rows [name, text, rewritten text, calls] from stdin, and writes {name: what differs, or what a text raises}. No
answer may depend on the rewriting but for the order of sums.
"""

import json
import sys
import tempfile
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))

from kernelwright.proof.worker.interpreter import hardened
from micro.rewrite.run_fused import load, seed


def answer(module, call):
    seed(0)
    return eval(call, {**vars(module), "randn": torch.randn})


def main():
    hardened.install()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, text, rewritten, calls) in enumerate(json.load(sys.stdin)):
            old, new = (load(Path(folder), f"{w}{number}", t) for w, t in (("old", text), ("new", rewritten)))
            for call in calls:
                try:
                    torch.testing.assert_close(
                        answer(new, call), answer(old, call), rtol=1e-5, atol=1e-6, equal_nan=True
                    )
                except Exception as error:  # noqa: BLE001  (an access out of bounds, or whatever else is wrong)
                    found[name] = f"{call}: {error}"
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
