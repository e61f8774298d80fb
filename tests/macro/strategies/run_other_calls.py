"""Run by `interpreted`: calls two texts as their workload does not, and compares the answers.

Reads JSON rows [name, text, rewritten text, target, inputs] from stdin, the last two as expressions; writes {name: {change:
outcome}}.
"""

import json
import sys
import tempfile
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))

from micro.rewrite.run_fused import load

CHANGES = {
    "one dimension more": lambda x: torch.stack((x, x.flip(0), x)),
    "one dimension fewer": lambda x: x[0],
    "no rows": lambda x: x[:0],
    "rows of nothing": lambda x: x[..., :0],
    "transposed": lambda x: x.mT.contiguous().mT if x.dim() > 1 else x,
    "expanded": lambda x: x[:1].expand_as(x),
    "sliced": lambda x: torch.stack((x, x), dim=-1).flatten(-2)[..., ::2],
    "float16": lambda x: x.half() if x.is_floating_point() else x,
    "float64": lambda x: x.double() if x.is_floating_point() else x,
    "int": lambda x: (x * 4).int() if x.is_floating_point() else x.int(),
}
_ALIKE = ("float16", "float64")  # the parameters are of the dtype, too


def answer(folder, name, text, target, inputs, change, dtype=None):
    """What the text returns, or raises."""
    torch.manual_seed(0)
    module = load(folder, name, text)
    made = eval(target, {**vars(module), "torch": torch})
    torch.manual_seed(1)
    given = [change(x) for x in eval(inputs, {**vars(module), "torch": torch})]
    if isinstance(made, torch.nn.Module):
        made = made.to(dtype or torch.float32)
    try:
        with torch.no_grad():
            return made(*given)
    except Exception as error:  # noqa: BLE001  (a text raises anything)
        return error


def outcome(old, new):
    if isinstance(old, Exception):
        return "the baseline raises"
    if isinstance(new, Exception):
        return "refuses" if isinstance(new, ValueError) else f"raises {type(new).__name__}: {new}"
    tolerance = {torch.float64: 1e-12, torch.float16: 6e-3}.get(old.dtype, 2e-5)
    try:
        torch.testing.assert_close(new, old, rtol=tolerance, atol=tolerance, equal_nan=True)
    except AssertionError as error:
        return "differs: " + " ".join(str(error).split())
    return "agrees"


def main():
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, text, rewritten, target, inputs) in enumerate(json.load(sys.stdin)):
            found[name] = {}
            for label, change in CHANGES.items():
                for alike in (False, True) if label in _ALIKE and "(" in target else (False,):
                    dtype = change(torch.ones(1)).dtype if alike else None
                    both = (
                        answer(Path(folder), f"{which}{number}", one, target, inputs, change, dtype)
                        for which, one in (("old", text), ("new", rewritten))
                    )
                    found[name][f"{label}, with the parameters" if alike else label] = outcome(*both)
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
