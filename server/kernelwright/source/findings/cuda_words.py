"""Words for what the rules of CUDA speak of."""

from kernelwright.source.polynomials import Polynomial


def written(polynomial: Polynomial) -> str:
    """A polynomial as one writes it in C: "2 * K + 1"."""
    parts = []
    for term, number in sorted(polynomial.terms, key=lambda one: -len(one[0])):
        names = [name.rstrip("'").lstrip("?") for name in term]
        parts.append(" * ".join([*([str(number)] if number != 1 or not names else []), *names]))
    return " + ".join(parts) or "0"
