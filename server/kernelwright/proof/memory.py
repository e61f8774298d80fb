"""How much host memory a worker holds, and how much it may. CUDA reserves huge address spaces, so only RSS counts."""

from pathlib import Path

from kernelwright.proof.worker.processes import read

_SHARE = 0.75  # of what the machine or its container has


def in_use(pid: int) -> tuple[int, int]:
    """Private and shared memory, without mapped files, of a process and its descendants in bytes, and how many they are.

    Both are 0 where the system is silent.
    """
    used, processes, waiting = 0, 0, [pid]
    while waiting:
        process = waiting.pop()
        status = read(process, "status")  # empty where it is gone meanwhile, or not Linux
        waiting += map(int, read(process, f"task/{process}/children").split())
        kilobytes = [line.split()[1] for line in status.splitlines() if line.startswith((b"RssAnon:", b"RssShmem:"))]
        used += sum(map(int, kilobytes)) * 1024
        processes += bool(status)
    return used, processes


def default_limit() -> int:
    """Three quarters of the memory of the machine or of its container, whichever is smaller, in bytes; 0: no limit."""
    sizes = [size for size in (_machine(), _container()) if size]
    return int(min(sizes) * _SHARE) if sizes else 0


def _machine() -> int:
    try:
        first = Path("/proc/meminfo").read_text().splitlines()[0]
        return int(first.split()[1]) * 1024
    except (OSError, IndexError, ValueError):
        return 0


def _container() -> int:
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            text = Path(name).read_text().strip()
        except OSError:
            continue
        if text.isdigit():
            return int(text)
    return 0
