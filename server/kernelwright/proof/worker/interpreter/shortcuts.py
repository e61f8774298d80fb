"""What Triton's interpreter works out again for each operation, and comes to the same: worked out once, or where it is used.

Most of the time that a kernel of small blocks takes there is spent so. Written against triton 3.6 and 3.7.
"""

import functools
import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import triton.language as tl
from triton.language.semantic import TritonSemantic
from triton.runtime import interpreter

from kernelwright.proof.worker.interpreter import operands

_installed = False
# What is no constexpr and holds none.
_PLAIN = frozenset({tl.tensor, tl.dtype, tl.block_type, tl.pointer_type, bool, int, float, str, type(None)})


def install() -> None:
    """Take the shortcuts in this process; calling it again changes nothing."""
    global _installed
    if _installed:
        return
    _installed = True
    interpreter.interpreter_builder.options = for_launch(interpreter.interpreter_builder.options, debug=False)
    interpreter._get_np_dtype = _by_name(interpreter._get_np_dtype)
    interpreter._validate_np_data_size = _of_known_size()
    interpreter._patch_attr = _straight(interpreter._patch_attr)
    interpreter._patch_lang = _once_a_launch(interpreter._patch_lang)
    tl.core._unwrap_if_constexpr = _but_plain(tl.core._unwrap_if_constexpr)
    tl.dtype.__eq__ = _by_name_alone(tl.dtype.__eq__)
    TritonSemantic.cast = _to_another_kind(TritonSemantic.cast)
    operands.install()
    reduce, scan = interpreter.ReduceOps, interpreter.ScanOps
    reduce.generic_reduce = _in_slices(reduce.generic_reduce, lambda slices, axis: slices[-1])
    scan.generic_scan = _in_slices(scan.generic_scan, np.stack)


def for_launch(options: Any, *, debug: bool) -> Any:
    """The options of a launch. Overflows are looked for to hand them to `device_assert`, which asks for `debug` only then."""
    return replace(options, debug=debug, sanitize_overflow=debug)


def _by_name(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    known: dict[str, Any] = {}

    @functools.wraps(original)
    def of(kind: Any) -> Any:
        name = kind.scalar.name
        if name not in known:
            known[name] = original(kind)
        return known[name]

    return of


def _of_known_size() -> Callable[[Any, Any], bool]:
    """Whether the elements of an array are no larger than those of a kind; addresses always fit."""
    known: dict[str, float] = {}
    handle = interpreter.TensorHandle
    refuse = handle.__post_init__

    def make_handle(self: Any, data: Any, dtype: Any, attr: Any = None) -> None:
        self.data, self.dtype, self.attr = data, dtype, {} if attr is None else attr
        if data.itemsize > known.get(dtype.name, 0):
            refuse(self)  # unless it fits

    def fits(data: Any, kind: Any) -> bool:
        most = known.get(kind.name)
        if most is None:
            most = math.inf if isinstance(kind, tl.pointer_type) else max(kind.primitive_bitwidth, 8) / 8
            known[kind.name] = most
        return data.itemsize <= most

    handle.__init__ = make_handle
    return fits


def _straight(original: Callable[..., Any]) -> Callable[..., Any]:
    """Call the function within a builtin of triton.language: what wraps it only looks for the argument that is given here."""
    checking = tl.core.builtin(lambda: None).__code__

    @functools.cache
    def calling(wrapped: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **named: Any) -> Any:
            named["_semantic"] = interpreter.interpreter_semantic
            return wrapped(*args, **named)

        return call

    @functools.wraps(original)
    def patch(owner: Any, name: str, member: Any, *rest: Any) -> None:
        original(owner, name, member, *rest)
        if getattr(member, "__code__", None) is checking:
            setattr(owner, name, calling(member.__wrapped__))

    return patch


def _but_plain(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(original)
    def unwrap(given: Any) -> Any:
        return given if type(given) in _PLAIN else original(given)

    return unwrap


def _by_name_alone(original: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    @functools.wraps(original)
    def equal(self: Any, other: Any) -> bool:
        if self is other:
            return True
        return self.name == other.name if isinstance(other, tl.dtype) else original(self, other)

    return equal


def _to_another_kind(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def cast(self: Any, given: Any, kind: Any, *rest: Any, **named: Any) -> Any:
        return given if given.dtype is kind else original(self, given, kind, *rest, **named)

    return cast


def _once_a_launch(original: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Patch triton.language for a launch, not again for each call of a device function; look for what to patch only once."""
    patched: set[int] = set()
    stay: set[int] = set()  # patched for a device function, after which nothing is restored
    known: dict[frozenset[int], list[tuple[Any, str, Any]]] = {}  # by the modules that a kernel sees

    class Scope:
        def __init__(self, scope: Any) -> None:
            self.scope = scope

        def restore(self) -> None:
            patched.clear()
            self.scope.restore()

    @functools.wraps(original)
    def patch(fn: Any) -> Any:
        seen = frozenset(id(value) for value in fn.__globals__.values() if value is tl or value is tl.core)
        within = bool(patched)
        if within and seen <= patched | stay:
            return None
        if not within and seen in known:
            scope = interpreter._LangPatchScope()
            for change in known[seen]:
                scope.set_attr(*change)
        else:
            scope = original(fn)
            if within:
                stay.update(seen)
            elif scope:
                known[seen] = [(owner, name, getattr(owner, name)) for owner, name, _ in scope._changes]
        patched.update(seen)
        return scope and Scope(scope)  # older versions have none, and stay patched

    return patch


def _in_slices(original: Callable[..., Any], result: Callable[[list[Any], int], Any]) -> Callable[..., Any]:
    """Combine a slice along the axis with the next one, not an element with the next: in the same order, each by itself."""

    def combined(self: Any, given: Any) -> list[Any]:
        shape, kinds = given[0].handle.data.shape, [one.dtype for one in given]
        slices = [[np.take(one.handle.data, at, self.axis) for one in given] for at in range(shape[self.axis])]
        for at in range(1, len(slices)):
            both = (self.to_tensor(*one) for part in slices[at - 1 : at + 1] for one in zip(part, kinds, strict=True))
            made = self.combine_fn.fn(*both)
            made = made if isinstance(made, tuple) else (made,)
            slices[at] = [
                np.array(np.broadcast_to(getattr(one, "handle", one).data, old.shape), old.dtype)
                for one, old in zip(made, slices[at], strict=True)
            ]
        found = [result(list(one), self.axis) for one in zip(*slices, strict=True)]
        if getattr(self, "keep_dims", False):
            found = [np.expand_dims(one, self.axis) for one in found]
        return [self.to_tensor(*one) for one in zip(found, kinds, strict=True)]

    def truth(self: Any) -> bool:
        return bool(self.handle.data.item())  # which raises where a branch hangs on several elements

    @functools.wraps(original)
    def combine(self: Any, given: Any) -> Any:
        if self.axis is None or given[0].handle.data.ndim < 2:
            return original(self, given)
        kept, tl.tensor.__bool__ = tl.tensor.__bool__, truth
        try:
            return combined(self, given)
        except Exception:  # noqa: BLE001  (a branch, or what is raised again below)
            pass
        finally:
            tl.tensor.__bool__ = kept
        return original(self, given)

    return combine
