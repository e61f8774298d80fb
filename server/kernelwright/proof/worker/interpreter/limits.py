"""What a GPU refuses or gets wrong and Triton's interpreter does not: grids and warps beyond the limits of CUDA, and promises
to the compiler that are not true."""

from typing import Any

from triton.runtime.interpreter import InterpreterBuilder, TensorHandle

MOST_PROGRAMS = (2**31 - 1, 65535, 65535)  # CUDA C++ programming guide, compute capabilities
_MOST_WARPS = 32  # a block has 1024 threads at most
_ADDRESS = 16  # bytes: no load is wider, so nothing more of an address is made use of


class LaunchError(RuntimeError):
    """A launch that CUDA refuses."""


class FalsePromise(Exception):
    """A hint to the compiler that does not hold: what it makes of it reads and writes elsewhere, or ends the kernel."""


def install() -> None:
    """Look at every launch and hint."""
    set_dimensions, set_attribute = InterpreterBuilder.set_grid_dim, TensorHandle.set_attr

    def set_grid_dim(self: Any, *sizes: int) -> None:
        for axis, size, most in zip("xyz", sizes, MOST_PROGRAMS, strict=True):
            if size > most:
                raise LaunchError(f"a grid of {tuple(sizes)}: CUDA takes at most {most} programs along {axis}")
        set_dimensions(self, *sizes)

    def set_attr(self: Any, key: str, value: Any) -> None:
        kind, data = self.dtype.scalar, self.data
        # Of a block each run of neighbours begins at a multiple: where they end is another hint's, which is not looked at.
        if key == "tt.divisibility" and data.ndim <= 1 and data.size and (kind.is_int() or kind.is_ptr()):
            promised, first = int(value[0]), int(data.flat[0])
            held, what = (min(promised, _ADDRESS), "the address") if kind.is_ptr() else (promised, "the value")
            if held > 0 and first % held:
                raise FalsePromise(f"tl.multiple_of promises a multiple of {promised}, and {what} is {first}")
        set_attribute(self, key, value)

    InterpreterBuilder.set_grid_dim, TensorHandle.set_attr = set_grid_dim, set_attr


def check_warps(options: dict[str, Any]) -> None:
    """The warps that a launch asks for. Raises LaunchError."""
    warps = options.get("num_warps")
    if isinstance(warps, int) and not (0 < warps <= _MOST_WARPS and warps & (warps - 1) == 0):
        raise LaunchError(f"num_warps={warps}: a power of two, at most {_MOST_WARPS}, is what a block can have")
