"""torch's dispatch mode, in which every operator of a call is seen or replaced, without what makes its first use slow."""

from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_BY_NUMBERS = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}


class DispatchMode(TorchDispatchMode):
    """To be derived from: `seen` gets every operator that is called within, and answers with what the caller gets.

    It is given the operator, that of all its overloads (None for one that has none), the arguments and what the call has made.
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        return self.seen(func, getattr(func, "overloadpacket", None), args, kwargs, func(*args, **kwargs))

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else the first use imports all of torch._dynamo, which takes seconds


class SizesAsGiven(DispatchMode):
    """Within it an operator raises TypeError whose sizes follow from numbers: one of a few billions may ask for that many."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if _BY_NUMBERS & set(func.tags) and func is not torch.ops.aten.equal.default:
            raise TypeError(f"{func} depends on the numbers of a tensor")
        return func(*args, **(kwargs or {}))
