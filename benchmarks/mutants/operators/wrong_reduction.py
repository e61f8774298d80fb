"""Another reduction: a maximum that is a sum, a mean that is a sum, a variance of a sample."""

from collections.abc import Iterator

from benchmarks.mutants.mutant import Fault, Operator
from benchmarks.mutants.syntax import Code, field, keywords, replaced, without

_OTHERS = {
    "sum": ("mean", "amax"),
    "mean": ("sum", "amax"),
    "amax": ("amin", "sum"),
    "amin": ("amax",),
    "argmax": ("argmin",),
    "argmin": ("argmax",),
    "cumsum": ("cumprod",),
    "var": ("std",),
    "maximum": ("minimum",),
    "minimum": ("maximum",),
    "softmax": ("log_softmax",),
    "log_softmax": ("softmax",),
    "all": ("any",),
    "any": ("all",),
}
_IN_KERNELS = {"sum": ("max",), "max": ("min", "sum"), "min": ("max",), "maximum": ("minimum",), "cumsum": ("cumprod",)}


def faults(code: Code) -> Iterator[Fault]:
    for node, _ in code.everywhere("call"):
        called = code.called(node)
        package, _, name = called.rpartition(".")
        if package not in ("triton.language", "torch", "torch.nn.functional", ""):
            continue
        others = (_IN_KERNELS if package == "triton.language" else _OTHERS).get(name, ())
        target = field(node, "function")
        for other in others if target.type == "attribute" else ():
            yield Fault((replaced(field(target, "attribute"), other),), f"{name} became {other}")
        given = keywords(code, node)
        if "correction" in given:
            yield Fault((without(code, given["correction"]),), f"dropped: {code.content(given['correction'])}")
        if "largest" in given:
            yield Fault((without(code, given["largest"]),), f"dropped: {code.content(given['largest'])}")


OPERATOR = Operator("wrong-reduction", "another reduction", faults)
