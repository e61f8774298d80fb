"""torch's dispatch mode, in which every operator of a call is seen or replaced, without what makes its first use slow."""

from torch.utils._python_dispatch import TorchDispatchMode


class DispatchMode(TorchDispatchMode):
    """To be derived from as TorchDispatchMode is: `__torch_dispatch__` gets every operator that is called within."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else the first use imports all of torch._dynamo, which takes seconds
