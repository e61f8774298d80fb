"""Registers, spills and shared memory of a compiled Triton kernel, read with the tools that Triton brings along."""

import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from kernelwright.proof.worker.compiling.occupancy import occupancy
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.values import Failure, FailureKind, Resources

_TOOL_LIMIT = 60.0  # seconds


def of_kernel(compiled: Any, name: str, capability: int) -> Resources:
    """The resources of triton's CompiledKernel for one launch on `capability`. Raises JobFailed."""
    metadata = compiled.metadata
    registers, stack = _usage(compiled.asm["cubin"], metadata.name)
    fit = occupancy(capability, num_warps=metadata.num_warps, registers=registers, shared_bytes=metadata.shared)
    return Resources(
        kernel=name,
        compute_capability=capability,
        registers=registers,
        spill_bytes=_spills(compiled.asm["ptx"]) if stack else 0,
        shared_bytes=metadata.shared,
        num_warps=metadata.num_warps,
        num_stages=metadata.num_stages,
        occupancy=fit.share,
        limited_by=fit.limited_by,
    )


def parse_usage(output: str, function: str) -> tuple[int, int]:
    """(registers per thread, stack bytes) of `function` in what `cuobjdump -res-usage` prints; (0, 0) if it is absent."""
    found = re.search(rf"Function {re.escape(function)}:\s*\n\s*(REG.*)", output)
    if found is None:
        return 0, 0
    usage = {key: int(value) for key, value in re.findall(r"(REG|STACK):(\d+)", found[1])}
    return usage.get("REG", 0), usage.get("STACK", 0)


def parse_spills(output: str) -> int:
    """Bytes of spill stores and loads in what `ptxas -v` prints."""
    return sum(int(count) for count in re.findall(r"(\d+) bytes spill (?:stores|loads)", output))


def _usage(cubin: bytes, function: str) -> tuple[int, int]:
    return parse_usage(_run(_tool("cuobjdump"), "-res-usage", of=cubin).stdout, function)


def _spills(ptx: str) -> int:
    """A stack need not be spills: only the assembler says which it is."""
    target = re.search(r"\.target\s+(sm_\w+)", ptx)
    if target is None:
        return 0
    assembler = _tool("ptxas-blackwell", "ptxas") if re.match(r"sm_1\d\d", target[1]) else _tool("ptxas")
    return parse_spills(_run(assembler, "-v", f"-arch={target[1]}", "-o", "/dev/null", of=ptx.encode()).stderr)


def _tool(*names: str) -> str:
    import triton.backends.nvidia as nvidia

    folder = Path(nvidia.__file__).parent / "bin"
    for name in names:
        if (folder / name).exists():
            return str(folder / name)
    message = f"Triton's {names[-1]} is missing: reinstall triton in the interpreter that runs your kernels."
    raise JobFailed(Failure(FailureKind.MISSING_PACKAGE, message))


def _run(*command: str, of: bytes) -> subprocess.CompletedProcess[str]:
    """The command, with the name of a file that holds `of` behind its arguments."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(of)
        file.flush()
        given = (*command, file.name)
        try:
            return subprocess.run(given, capture_output=True, text=True, timeout=_TOOL_LIMIT, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            message = f"Triton's {Path(command[0]).name} does not run here ({error})."
            raise JobFailed(Failure(FailureKind.COMPILE_FAILED, message)) from error
