"""A barrier or a synchronisation left out."""

from collections.abc import Iterator

from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import Code, replaced

_BARRIERS = ("triton.language.debug_barrier", "torch.cuda.synchronize", ".synchronize", ".wait_stream", ".wait_event")


def faults(code: Code) -> Iterator[Fault]:
    for node, _ in code.everywhere("expression_statement"):
        call = node.named_children[0]
        if call.type == "call" and code.called(call) in _BARRIERS:
            yield Fault((replaced(call, "pass"),), f"dropped: {code.content(call)}")


OPERATOR = Operator("missing-barrier", "a barrier left out", faults)
