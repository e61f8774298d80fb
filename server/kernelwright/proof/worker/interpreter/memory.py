"""What the programs of one interpreted launch do to memory: every access must lie in a tensor, and two programs of a
launch must not touch the same element, one of them writing, unless atomics order them."""

import contextlib
import ctypes
import gc
from collections.abc import Iterator
from typing import Any

import numpy as np

from kernelwright.proof.worker.interpreter.order import Order

_NOBODY, _SEVERAL = -1, -2


class InterpreterFault(Exception):
    """What the hardware would do wrong silently: an access out of bounds, or programs that race."""


class Waiting(BaseException):
    """A program waits for one that has not run yet. Not an Exception, which the interpreter would wrap."""


class LaunchMemory:
    """The tensors of one launch, and per element the program that wrote it or read it last, and when.

    A tensor may be accessed anywhere in its storage: launchers do pass slices of packed buffers. With `backwards` the last
    program comes first, and Waiting is raised in one that makes more accesses than `patience`; `restore` then puts back
    what all have written. `most`: the accesses of the program that has made most.
    """

    def __init__(self, builder: Any, *, backwards: bool = False, patience: int = 0) -> None:
        self._builder = builder
        self.backwards = backwards
        self._patience = patience
        self.most = self._count = 0
        self._running = -1
        self._before: list[tuple[int, bytes]] = []
        self._names: list[str] = []
        self._views: list[int] = []  # where each tensor itself begins
        self._low = self._high = np.empty(0, np.uint64)
        self._owners: dict[tuple[int, int, str], np.ndarray] = {}
        self._order = Order()
        self._readers_of: dict[tuple[int, int], set[int]] = {}
        self._unknown = False  # atomics in several tensors at once: what they order is not followed

    def know(self, arguments: dict[str, Any]) -> None:
        """Take in the tensors among the arguments of the launch."""
        for name, value in arguments.items():
            self._know(name, value)
        if self.backwards:
            ends = [(int(low), int(high)) for low, high in zip(self._low, self._high, strict=True)]
            self._before = [(low, ctypes.string_at(low, high - low)) for low, high in ends]

    def restore(self) -> None:
        """Put back what the tensors held before the launch."""
        for low, held in self._before:
            ctypes.memmove(low, held, len(held))

    def load(self, pointers: np.ndarray, mask: Any, size: int, *, volatile: bool = False) -> None:
        """Check a load of `size` bytes per unmasked lane."""
        me = self._begin()
        found = self._inside("load from", pointers, mask, size)
        if found is None or self._unknown:
            return
        tensor, elements, _ = found
        writers = self._owner(tensor, size, "writer")[elements]
        if self._order.used and volatile:
            self._order.learn_all_of(writers[(writers != _NOBODY) & (writers != me)])
            return
        own = (
            self._owner(tensor, size, "atomic")[elements] == me if self._order.used else np.zeros(elements.shape, bool)
        )
        strangers = self._strangers(tensor, size, elements, "writer") & ~own
        if strangers.any():
            self._race(tensor, size, elements, strangers, int(writers[strangers][0]), "reads what", "writes")
        self._remember_reader(tensor, size, elements[~own])

    def store(self, pointers: np.ndarray, mask: Any, values: np.ndarray, size: int) -> None:
        """Check a store. A store of the value that is there already harms nobody, whoever made it."""
        me = self._begin()
        found = self._inside("store to", pointers, mask, size)
        if found is None or self._unknown:
            return
        tensor, elements, lanes = found
        new = np.broadcast_to(values, pointers.shape)[lanes]
        if self._order.used:
            own = self._owner(tensor, size, "atomic")[elements] == me
            if own.any():  # as where a lock is given back
                self._order.meet(int(self._low[tensor]), elements[own])
            elements, new = elements[~own], new[~own]
        writers, readers = self._owner(tensor, size, "writer"), self._owner(tensor, size, "reader")
        before, seen = writers[elements], readers[elements]
        written, read = (self._strangers(tensor, size, elements, kind) for kind in ("writer", "reader"))
        strangers = written | read
        if strangers.any():
            kept = self._bytes(tensor, size)[elements]
            made = np.ascontiguousarray(new).view(np.uint8).reshape(-1, size) if new.dtype.itemsize == size else ~kept
            changed = (made != kept).any(axis=1)
            strangers &= changed
        if (strangers & written).any():
            other = int(before[strangers & written][0])
            self._race(tensor, size, elements, strangers & written, other, "writes what", "writes, with another value")
        if strangers.any():
            self._race(tensor, size, elements, strangers, int(seen[strangers][0]), "writes what", "reads")
        writers[elements] = me
        if self._order.used:
            self._owner(tensor, size, "writer's time")[elements] = self._order.now

    @contextlib.contextmanager
    def atomic(self, pointers: np.ndarray, mask: Any, size: int) -> Iterator[None]:
        """Check an atomic access, which is made within. What it orders, see interpreter.order.

        That it comes to the place of a plain store orders nothing: it does not wait for it, and may as well come before.
        """
        me = self._begin()
        found = self._inside("atomic access to", pointers, mask, size)
        if found is None:
            self._unknown = self._unknown or bool(np.any(mask))
            yield
            return
        tensor, elements, _ = found
        writers = self._owner(tensor, size, "writer")[elements]
        strangers = self._strangers(tensor, size, elements, "writer")
        before = self._bytes(tensor, size)[elements]
        yield
        changed = strangers & (self._bytes(tensor, size)[elements] != before).any(axis=1)
        if changed.any() and not self._unknown:
            other = int(writers[changed][0])
            self._race(tensor, size, elements, changed, other, "changes by an atomic what", "writes")
        self._order.learn_all_of(writers[strangers])
        self._order.meet(int(self._low[tensor]), elements)
        self._owner(tensor, size, "atomic")[elements] = me

    def _begin(self) -> int:
        """The running program, for one more access of it."""
        me = self._program
        if me != self._running:
            self._running, self._count = me, 0
            self._order.begin(me)
        self._count += 1
        self.most = max(self.most, self._count)
        if self.backwards and self._count > self._patience:
            raise Waiting
        return me

    def _strangers(self, tensor: int, size: int, elements: np.ndarray, kind: str) -> np.ndarray:
        """Which elements have another program as their `kind`, whose access is not known to have come before."""
        owners = self._owner(tensor, size, kind)[elements]
        strangers = (owners != _NOBODY) & (owners != self._running)
        if not self._order.used or not strangers.any():
            return strangers
        who = owners[strangers]
        when = self._owner(tensor, size, f"{kind}'s time")[elements][strangers]
        known = self._order.knows(who, when)
        readers = self._readers_of.get((int(self._low[tensor]), size), set())
        known |= (who == _SEVERAL) & self._order.knows_something_of(readers)
        left = strangers.copy()
        left[strangers] = ~known
        return left

    def _remember_reader(self, tensor: int, size: int, elements: np.ndarray) -> None:
        me, readers = self._running, self._owner(tensor, size, "reader")
        others = self._strangers(tensor, size, elements, "reader")
        if self._order.used:
            self._owner(tensor, size, "reader's time")[elements] = self._order.now
        readers[elements] = np.where(others, _SEVERAL, me)
        self._readers_of.setdefault((int(self._low[tensor]), size), set()).add(me)

    @property
    def _program(self) -> int:
        x, y, z = self._builder.grid_idx
        _, height, depth = self._builder.grid_dim
        return (x * height + y) * depth + z

    def _inside(
        self, what: str, pointers: np.ndarray, mask: Any, size: int
    ) -> tuple[int, np.ndarray, np.ndarray] | None:
        """(tensor, element numbers, unmasked lanes) of an access. Raises InterpreterFault.

        None for an access without lanes, and for one whose lanes lie in several tensors.
        """
        lanes = np.broadcast_to(np.asarray(mask, dtype=bool), pointers.shape)
        addresses = pointers[lanes]
        if not addresses.size:
            return None
        ends = np.array([addresses.min(), addresses.max()], np.uint64)
        tensors = np.searchsorted(self._low, ends, side="right").astype(np.int64) - 1
        tensor = int(tensors[0])
        one = tensor == tensors[1] and tensor >= 0 and int(ends[1]) + size <= int(self._high[tensor])
        if one:
            return tensor, ((addresses - self._low[tensor]) // np.uint64(size)).astype(np.int64), lanes
        self._locate(what, addresses, size)
        return None

    def _locate(self, what: str, addresses: np.ndarray, size: int, *, again: bool = False) -> None:
        """Find the lanes outside every tensor, after a look for tensors that the kernel reaches through pointers."""
        tensors = np.searchsorted(self._low, addresses, side="right").astype(np.int64) - 1
        if not len(self._low):
            outside = np.ones(addresses.shape, bool)
        else:
            outside = (tensors < 0) | (addresses + np.uint64(size) > self._high[np.maximum(tensors, 0)])
        if not outside.any():
            return None
        lane = int(np.argmax(outside))
        if not again and self._find_elsewhere(int(addresses[lane])):
            return self._locate(what, addresses, size, again=True)
        where = self._place(int(addresses[lane]), size)
        raise InterpreterFault(
            f"Out of bounds: {what} {where}, {int(outside.sum())} of {addresses.size} active lanes, "
            f"in program {self._name(self._program)}. Mask the access or fix the index."
        )

    def _place(self, address: int, size: int) -> str:
        """The nearest tensor and the distance to it, in bytes and elements."""
        if not len(self._low):
            return "no tensor at all"
        distances = np.array(
            [max(int(low) - address, address - int(high), 0) for low, high in zip(self._low, self._high, strict=True)]
        )
        near = int(np.argmin(distances))
        offset = address - self._views[near]
        length = int(self._high[near]) - self._views[near]
        return (
            f"{self._names[near]} at byte offset {offset} (element {offset // size}) of {length} bytes "
            f"({length // size} elements)"
        )

    def _race(
        self, tensor: int, size: int, elements: np.ndarray, lanes: np.ndarray, other: int, doing: str, did: str
    ) -> None:
        element = int(elements[int(np.argmax(lanes))])
        them = "several other programs" if other == _SEVERAL else f"program {self._name(other)}"
        verb = did if other != _SEVERAL else did.replace("writes", "write").replace("reads", "read")
        raise InterpreterFault(
            f"Race between programs: program {self._name(self._program)} {doing} {them} {verb} in the same launch: "
            f"{self._names[tensor]}, element {element} (byte offset {element * size}). The result depends on their order."
        )

    def _name(self, program: int) -> str:
        _, height, depth = self._builder.grid_dim
        return str((program // (height * depth), program // depth % height, program % depth))

    def _owner(self, tensor: int, size: int, kind: str) -> np.ndarray:
        key = (int(self._low[tensor]), size, kind)
        if key not in self._owners:
            length = int(self._high[tensor] - self._low[tensor])
            self._owners[key] = np.full(-(-length // size), 0 if kind.endswith("time") else _NOBODY, np.int32)
        return self._owners[key]

    def _bytes(self, tensor: int, size: int) -> np.ndarray:
        """The memory of a tensor as rows of `size` bytes."""
        low, high = int(self._low[tensor]), int(self._high[tensor])
        rows = (high - low) // size
        raw = (ctypes.c_uint8 * (rows * size)).from_address(low)
        return np.frombuffer(raw, np.uint8).reshape(rows, size)

    def _know(self, name: str, value: Any) -> None:
        if isinstance(value, tuple | list):
            for number, item in enumerate(value):
                self._know(f"{name}[{number}]", item)
            return
        while not hasattr(value, "untyped_storage"):
            if not hasattr(value, "base"):
                return
            value = value.base  # of a host-side tensor descriptor, or another type for the same memory
        storage = value.untyped_storage()
        if not storage.nbytes():
            return
        low = storage.data_ptr()
        if low in self._low:
            return
        at = int(np.searchsorted(self._low, np.uint64(low)))
        self._low = np.insert(self._low, at, np.uint64(low))
        self._high = np.insert(self._high, at, np.uint64(low + storage.nbytes()))
        self._names.insert(at, name)
        self._views.insert(at, value.data_ptr())

    def _find_elsewhere(self, address: int) -> bool:
        """A kernel may load pointers from memory: look for the tensor among all that live. Slow, so only before a fault."""
        import torch

        for thing in gc.get_objects():
            if type(thing) not in (torch.Tensor, torch.nn.Parameter) or thing.device.type != "cpu":
                continue
            storage = thing.untyped_storage()
            if storage.data_ptr() <= address < storage.data_ptr() + storage.nbytes():
                known = len(self._names)
                self._know("a tensor reached through a pointer", thing)
                return len(self._names) > known
        return False
