"""What `triton.autotune` costs in processes of ours that have a GPU, without a change to what the user's kernel computes.

Triton compiles and measures every configuration for each new key, and for each module anew: seconds, of which a gate with
fifty sizes and a race with twenty variants take one each time. Only the processes that are timed tune as the user's do.
"""

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock  # the standard way to replace attributes for the length of a block

_WARPS = 16  # of the fp64 twin: ptxas takes a fifth of the time for a quarter of the elements in a thread
_UNMEASURED = (1.0, 1.0, 1.0)
_measured: dict[tuple[object, ...], Any] = {}


def measure_once() -> None:
    """Keep, for the rest of this process, what a configuration of a kernel's text took at a key; for races."""
    autotuner = _autotuner()
    if autotuner is None or hasattr(autotuner._bench, "kept"):
        return
    bench = autotuner._bench

    @functools.wraps(bench)
    def kept(self: Any, *args: Any, config: Any, **meta: Any) -> Any:
        named = {**(self.nargs or {}), **meta}
        kinds = tuple(str(value.dtype) for value in named.values() if hasattr(value, "dtype"))
        key = (_text_of(self), str(config), tuple(str(named.get(name)) for name in self.keys), kinds)
        if key not in _measured:
            _measured[key] = bench(self, *args, config=config, **meta)
        return _measured[key]

    kept.kept = True  # type: ignore[attr-defined]
    autotuner._bench = kept


def choose_once() -> None:
    """Measure briefly from now on, and at the first key of a kernel alone, the workload's own: at further ones it runs with the
    same configuration, where its pruning leaves that. For processes whose answers are compared and that nobody times.
    """
    autotuner = _autotuner()
    if autotuner is None or hasattr(autotuner.prune_configs, "once"):
        return
    prune, bench = autotuner.prune_configs, autotuner._bench

    @functools.wraps(prune)
    def once(self: Any, kwargs: Any) -> list[Any]:
        left = list(prune(self, kwargs))
        chosen = _chosen(self)
        return [chosen] if any(one is chosen for one in left) else left

    @functools.wraps(bench)
    def briefly(self: Any, *args: Any, config: Any, **meta: Any) -> Any:
        if config is _chosen(self):  # then it alone was left
            return _UNMEASURED
        self.do_bench = _for_a_moment
        return bench(self, *args, config=config, **meta)

    once.once = True  # type: ignore[attr-defined]
    autotuner.prune_configs, autotuner._bench = once, briefly


@contextlib.contextmanager
def compiling_fast() -> Iterator[None]:
    """Within it a kernel runs with any one of its configurations and with many warps, which compiles in a fraction of the time.

    For the fp64 twin, whose speed nobody asks for and whose rounding nobody sees. What does not launch so launches as it is.
    """
    autotuner, jit = _autotuner(), sys.modules.get("triton.runtime.jit")
    if autotuner is None or jit is None:
        yield
        return
    prune, run = autotuner.prune_configs, jit.JITFunction.run

    def with_warps(self: Any, *args: Any, **kwargs: Any) -> Any:
        if "num_warps" in self.arg_names or kwargs.get("num_warps", 0) >= _WARPS:
            return run(self, *args, **kwargs)
        try:
            return run(self, *args, **{**kwargs, "num_warps": _WARPS})
        except Exception:  # noqa: BLE001  (whatever it does not like of so many warps)
            return run(self, *args, **kwargs)

    with (
        mock.patch.object(autotuner, "prune_configs", lambda self, kwargs: list(prune(self, kwargs))[:1]),
        mock.patch.object(autotuner, "_bench", return_value=_UNMEASURED),
        mock.patch.object(jit.JITFunction, "run", with_warps),
    ):
        yield


def _autotuner() -> Any:
    """Triton's class, once something has imported it; None before."""
    return getattr(sys.modules.get("triton.runtime.autotuner"), "Autotuner", None)


def _chosen(tuner: Any) -> Any:
    """What was chosen at the first key."""
    return next(iter(tuner.cache.values()), None)


def _text_of(tuner: Any) -> object:
    """A hash of the kernel's text and of what it calls, where Triton has one; else the kernel itself."""
    inner = tuner.fn
    while not hasattr(inner, "cache_key") and hasattr(inner, "fn"):
        inner = inner.fn
    return getattr(inner, "cache_key", inner)


def _for_a_moment(call: Callable[[], Any], quantiles: Any = None, **_: Any) -> Any:
    from triton.testing import do_bench

    return do_bench(call, warmup=1, rep=2, quantiles=quantiles)
