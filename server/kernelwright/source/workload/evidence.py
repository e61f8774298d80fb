"""What a file says of the parameters of one of its functions, read from its body and the bodies that it passes them on to.

Sizes are terms: an axis of a parameter, a name, or a number. Names that are local to a body are told apart by its number.
"""

import ast
import itertools
from collections.abc import Iterator, Mapping

from kernelwright.source.workload.body import Body
from kernelwright.source.workload.docstrings import note_docstring
from kernelwright.source.workload.signature import Parameters
from kernelwright.source.workload.spelled import whole_number
from kernelwright.source.workload.told import Evidence, Told

_BODIES = 32  # in all


def evidence_of(text: str, parameters: Parameters, *, documented: bool = True) -> Evidence:
    """What the text says of these parameters: the bodies, and where it is to count, the docstring."""
    defaults = {
        p.arg: number for p, default in parameters.all() if default and (number := whole_number(default)) is not None
    }
    found = Evidence({parameter.arg: Told() for parameter, _ in parameters.all()}, defaults)
    _Reader(text, found).read(parameters.tree, {name: name for name in found.of}, 0)
    docstring = ast.get_docstring(parameters.tree) if documented else None
    if docstring:
        found.is_documented = note_docstring(docstring, found, "docstring:")
    return found


class _Reader:
    def __init__(self, text: str, found: Evidence) -> None:
        self._text = text
        self._found = found
        self.numbers: Iterator[int] = itertools.count()
        self._left = _BODIES

    def read(self, tree: ast.FunctionDef | ast.AsyncFunctionDef, bound: Mapping[str, str], depth: int) -> None:
        """`bound`: the entry's parameter that a name of this body stands for."""
        self._left -= 1
        if self._left < 0:
            return
        Body(self._text, self._found, dict(bound), f"{next(self.numbers)}:", depth, self).run(tree.body)
