"""The lines of a kernel whose lanes are results: pointwise code, and windows walked in every lane."""

from kernelwright.emit.kernel import Kernel
from kernelwright.nest.form import Axis, Fold, Let, Var
from kernelwright.ops.folds import FOLDS


class Body:
    """The lines of the lets, those that depend on a window inside of its loops. `shape`: that of the lanes, as code."""

    def __init__(self, kernel: Kernel, shape: str) -> None:
        self.kernel, self.shape = kernel, shape
        self.nest = kernel.nest
        self.windows = frozenset(axis.name for axis in kernel.nest.axes if axis.window)
        self.done: set[str] = set()

    def lines(self) -> list[str]:
        found: list[str] = []
        for let in self.nest.lets:
            if let.name in self.done:
                continue
            if isinstance(let.expr, Fold):
                found += self._walk(let.expr.over)
            elif not let.axes & self.windows:
                found += self.kernel.lines(let, other="0" if self.nest.gathers else "")
                self.done.add(let.name)
        return found

    def _walk(self, over: tuple[str, ...]) -> list[str]:
        """The loops over a window, with all that is folded over it."""
        kernel, nest = self.kernel, self.nest
        axes = {axis.name: axis for axis in nest.axes}
        folds = [let for let in nest.lets if isinstance(let.expr, Fold) and let.expr.over == over]
        pad = "    " * len(over)
        start = [f"{let.name} = {_start(let, self.shape)}" for let in folds]
        loops = [
            f"{'    ' * d}for {name} in tl.static_range({self._extent(axes[name])}):" for d, name in enumerate(over)
        ]
        inner: list[str] = []
        for let in nest.lets:
            if let.axes & set(over) and not isinstance(let.expr, Fold) and let.name not in self.done:
                start += kernel.corner(let)
                inner += kernel.lines(let, other=_other(let, folds))
                self.done.add(let.name)
        for let in folds:
            fold = let.expr
            assert isinstance(fold, Fold)
            if fold.inside and not kernel.filled(fold):
                inner += kernel.condition(fold.inside, "mask")
            value = kernel.folded(fold, "mask")
            monoid = FOLDS[fold.monoid]
            kernel.helpers |= dict.fromkeys([monoid.device] if monoid.device else [])
            joined = (
                f"{let.name} += {value}"
                if fold.monoid == "sum"
                else f"{let.name} = {monoid.joined.format(let.name, value)}"
            )
            inner.append(joined)
            self.done.add(let.name)
        kernel.named.clear()
        return [*start, *loops, *(f"{pad}{line}" for line in inner)]

    def _extent(self, axis: Axis) -> str:
        return self.kernel.constant(axis.extent.text, self.kernel.base(axis.extent.text))


def _start(let: Let, shape: str) -> str:
    assert isinstance(let.expr, Fold)
    monoid = FOLDS[let.expr.monoid]
    if monoid.identity == 0:
        return f"tl.zeros({shape}, dtype=tl.float32)"
    return f"tl.full({shape}, {monoid.fill}, dtype=tl.float32)"


def _other(let: Let, folds: list[Let]) -> str:
    """What a load brings where nothing is read: the unit of the fold that takes it as it is."""
    for fold in (one.expr for one in folds):
        assert isinstance(fold, Fold)
        if fold.body == Var(let.name) and fold.inside:
            return FOLDS[fold.monoid].fill
    return "0"
