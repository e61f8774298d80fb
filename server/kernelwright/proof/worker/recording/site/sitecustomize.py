"""Imported at the start of each Python process that `kernelwright record` leads to: begins recording there.

The folder of this file is the first of PYTHONPATH. A sitecustomize that stands behind it is run as well.
"""

import importlib.machinery
import importlib.util
import os
import sys

_HERE = os.path.dirname(os.path.abspath(__file__))
_WORKER = os.path.dirname(os.path.dirname(_HERE))


def _load(name, file):
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _begin(plan):
    bootstrap = _load("_kernelwright_bootstrap", os.path.join(_WORKER, "bootstrap.py"))
    if "kernelwright" not in sys.modules:
        bootstrap.register("kernelwright", os.path.dirname(os.path.dirname(_WORKER)))
    from kernelwright.proof.worker.recording import recorder

    recorder.begin(plan)


def _run_the_next():
    rest = [place for place in sys.path if os.path.abspath(place or ".") != _HERE]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


if (plan := os.environ.get("KERNELWRIGHT_RECORD")) and sys.version_info >= (3, 11):
    _begin(plan)
_run_the_next()
