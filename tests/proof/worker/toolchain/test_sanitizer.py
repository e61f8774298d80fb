"""What compute-sanitizer says is read as one sentence; the reports are those of its manual and of runs on GPUs."""

import os
from pathlib import Path

import pytest

from kernelwright.proof.worker.toolchain import sanitizer
from kernelwright.proof.worker.toolchain.sanitizer import TOOLS, Report

OWN = ("kernelwright_text.cu", "kernel.py")
BY_NAME = {tool.name: tool for tool in TOOLS}

OUT_OF_BOUNDS = """========= COMPUTE-SANITIZER
done so far: 1
========= Invalid __global__ read of size 4 bytes
=========     at saxpy(int, float, const float *, float *)+0x70 in kernelwright_text.cu:12
=========     by thread (17,0,0) in block (3,0,0)
=========     Address 0x74b834000ffc is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x74b834000000 of size 4,092 bytes
=========
========= Invalid __global__ read of size 4 bytes
=========     at saxpy(int, float, const float *, float *)+0x70 in kernelwright_text.cu:12
=========     by thread (18,0,0) in block (3,0,0)
=========     Address 0x74b834001000 is out of bounds
=========
========= Target application returned an error
========= ERROR SUMMARY: 2 errors
"""
MISALIGNED = """========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at unaligned_kernel+0x160 in helpers.cuh:6
=========     by thread (0,0,0) in block (0,0,0)
=========     Access to 0x7f6510c00001 is misaligned
=========     and is inside the nearest allocation at 0x7f6510c00000 of size 4 bytes
========= ERROR SUMMARY: 1 error
"""
BEFORE_12_4 = """========= COMPUTE-SANITIZER
========= Invalid __shared__ read of size 4 bytes
=========     at 0x578 in /home/me/kernelwright_text.cu:120:MatMul(Matrix, Matrix, Matrix)
=========     by thread (31,1,0) in block (0,0,0)
=========     Address 0x1000 is out of bounds
========= ERROR SUMMARY: 769 errors
========= ERROR SUMMARY: 669 errors were not printed. Use --print-limit option to adjust the number of printed errors
"""
RACE = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at sumKernel(int *, int *)+0x90 in kernelwright_text.cu:41
=========     and Read access at sumKernel(int *, int *)+0x100 in kernelwright_text.cu:51 [508 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
ONE_PLACE = """========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at add+0x130 in kernel.py:9
=========     and Write access at add+0x130 in kernel.py:9 [34 hazards]
========= RACECHECK SUMMARY: 3 hazards displayed (2 errors, 1 warning)
"""
OF_A_WARP = """========= COMPUTE-SANITIZER
========= Warning: Race reported between Write access at RAW()+0xf0 in kernelwright_text.cu:40
=========     and Read access at RAW()+0x280 in kernelwright_text.cu:46 [4 hazards]
========= RACECHECK SUMMARY: 1 hazard displayed (0 errors, 1 warning)
"""
UNINITIALISED = """========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 4 bytes
=========     at vectorAdd(int *)+0x70 in kernelwright_text.cu:41
=========     by thread (31,0,0) in block (1,0,0)
=========     Address 0x7f3c7ec000fc
========= ERROR SUMMARY: 768 errors
========= ERROR SUMMARY: 760 errors were not printed. Use --print-limit option to adjust the number of printed errors
"""
DOUBLE_FREE = """========= COMPUTE-SANITIZER
========= Malloc/Free error encountered : Double free
=========     at 0x79d8
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x400aff920
========= ERROR SUMMARY: 1 error
"""
CLEAN = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"
NO_RACE = "========= COMPUTE-SANITIZER\n========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)\n"
REFUSED = """========= COMPUTE-SANITIZER
========= Error: process didn't terminate successfully
=========     The application may have hit an error when dereferencing Unified Memory from the host.
========= Error: Target application terminated before first instrumented API call
========= Tracking kernels launched by child processes requires the --target-processes all option.
"""
UNSUPPORTED = """========= COMPUTE-SANITIZER
========= Error: Device not supported. Please refer to the "Supported Devices" section of the sanitizer documentation
=========
========= ERROR SUMMARY: 1 error
"""


@pytest.mark.parametrize(
    ("tool", "log", "fault"),
    [
        (
            "memcheck",
            OUT_OF_BOUNDS,
            "Invalid __global__ read of size 4 bytes in saxpy at line 12, by thread (17,0,0) of block (3,0,0): "
            "out of bounds, 1 bytes after the nearest allocation of size 4,092 bytes (2 in all)",
        ),
        (
            "memcheck",
            MISALIGNED,
            "Invalid __global__ write of size 4 bytes in unaligned_kernel at line 6 of helpers.cuh, by thread (0,0,0) of "
            "block (0,0,0): misaligned, inside the nearest allocation of size 4 bytes",
        ),
        (
            "memcheck",
            BEFORE_12_4,
            "Invalid __shared__ read of size 4 bytes in MatMul at line 120, by thread (31,1,0) of block (0,0,0): "
            "out of bounds (769 in all)",
        ),
        (
            "memcheck",
            DOUBLE_FREE,
            "Malloc/Free error encountered : Double free, by thread (0,0,0) of block (0,0,0)",
        ),
        ("racecheck", RACE, "race between a write in sumKernel at line 41 and a read in sumKernel at line 51"),
        ("racecheck", ONE_PLACE, "race between a write in add at line 9 by several threads (2 in all)"),
        (
            "initcheck",
            UNINITIALISED,
            "Uninitialized __global__ memory read of size 4 bytes in vectorAdd at line 41, by thread (31,0,0) of block "
            "(1,0,0) (768 in all)",
        ),
    ],
)
def test_a_fault_is_told_in_one_sentence(tool: str, log: str, fault: str) -> None:
    assert sanitizer.read(BY_NAME[tool], log, OWN) == Report(fault)


@pytest.mark.parametrize(
    ("tool", "log"), [("memcheck", CLEAN), ("initcheck", CLEAN), ("racecheck", NO_RACE), ("racecheck", OF_A_WARP)]
)
def test_nothing_is_said_of_what_has_no_error(tool: str, log: str) -> None:
    assert sanitizer.read(BY_NAME[tool], log, OWN) == Report(clean=True)


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (
            REFUSED,
            "process didn't terminate successfully; Target application terminated before first instrumented API call",
        ),
        (
            UNSUPPORTED,
            'Device not supported. Please refer to the "Supported Devices" section of the sanitizer documentation',
        ),
        ("", ""),
        ("========= COMPUTE-SANITIZER\nERROR SUMMARY: 0 errors\n", ""),
    ],
    ids=["no call of CUDA", "device", "nothing", "what the program printed"],
)
def test_what_is_no_report_is_never_clean(log: str, words: str) -> None:
    for tool in TOOLS:
        assert sanitizer.read(tool, log, OWN) == Report(words=words)


@pytest.mark.parametrize("folder", ["bin", "compute-sanitizer"])
def test_the_program_is_found_in_a_wheel(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia" / "cu13" / folder / "compute-sanitizer"
    monkeypatch.setenv("PATH", "")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    assert sanitizer.found() != str(program)
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    assert sanitizer.found() == str(program)


def test_the_program_is_found_on_the_path_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("own", os.path.join("toolkit", "bin")):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "compute-sanitizer").touch(mode=0o755)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path / "toolkit"))
    monkeypatch.setenv("PATH", "")
    assert sanitizer.found() == str(tmp_path / "toolkit" / "bin" / "compute-sanitizer")
    monkeypatch.setenv("PATH", str(tmp_path / "own"))
    assert sanitizer.found() == str(tmp_path / "own" / "compute-sanitizer")
