"""Which versions of what a benchmark ran with, as its result tells."""

import importlib.metadata

from kernelwright import __version__


def versions(*names: str) -> dict[str, str]:
    """The versions of Kernelwright and of the packages named, of which one may be missing."""
    return {"kernelwright": __version__, **{name: _version(name) for name in names}}


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
