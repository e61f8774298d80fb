"""Kernels and launchers as source that a person would keep."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kernelwright.micro.rewrite.long_lines import fitted
from kernelwright.place.layout import call_text


@dataclass(frozen=True)
class Printed:
    """`definitions` go to module level; `call` is the launcher's call with the region's inputs."""

    definitions: str
    call: str
    summary: str


def kernel_source(name: str, parameters: Sequence[str], docstring: str, body: Sequence[str]) -> str:
    head = call_text(f"def {name}", parameters, ":", 0)
    return "\n".join(["@triton.jit", head, f'    """{docstring}"""', *_indented(body)])


def launcher_source(name: str, parameters: Sequence[str], docstring: str, body: Sequence[str]) -> str:
    head = call_text(f"def {name}", parameters, ":", 0)
    return "\n".join([head, f'    """{docstring}"""', *_indented(body)])


def _indented(body: Sequence[str]) -> Iterator[str]:
    for line in body:
        yield from fitted(f"    {line}")
