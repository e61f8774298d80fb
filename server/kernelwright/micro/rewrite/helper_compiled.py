"""The helpers that run a module's forward as torch.compile makes it, in two modes."""

from kernelwright.micro.rewrite.helper_parts import (
    COPY_OF_RESULT,
    KIND_OF_CALL,
    NEEDS_GRADIENTS,
    PARTS_OF,
    TRACES_OF_A_CALL,
)
from kernelwright.micro.rewrite.helpers import Helper, sections

_DECORATOR = '''def compiled(forward):
    """Run a module's `forward` as torch.compile makes it.

    The first kinds of calls (shapes, strides, dtypes, numbers) are compiled, each at
    its second call. `forward` runs as it is written for all others, on the CPU, for
    gradients, under autocast, with hooks, while something else is captured or
    compiled, and where it draws random numbers or writes to tensors that it did not
    make, other than buffers.
    """
    most_kinds = 2  # each takes up to minutes to compile
    kinds = {}  # whether a compiled call would do the same

    @functools.cache
    def fast():
        return torch.compile(forward, dynamic=False)

    @functools.wraps(forward)
    def run(self, *args, **kwargs):
        kind = None if torch.compiler.is_compiling() else kind_of_call(args, kwargs)
        values = (*args, *kwargs.values())
        if kind is None or has_hooks(self):
            return forward(self, *args, **kwargs)
        if torch.is_grad_enabled() and needs_gradients(self, values):
            return forward(self, *args, **kwargs)
        kind = (*kind, self.training)
        if kind not in kinds and len(kinds) < most_kinds:
            given = [*self.parameters(), *tensors_in(values)]
            before = traces_of_a_call(given)
            result = forward(self, *args, **kwargs)
            kinds[kind] = traces_of_a_call(given) == before
            return result
        if not kinds.get(kind, False):
            return forward(self, *args, **kwargs)
        limit = sys.getrecursionlimit()
        try:
            return fast()(self, *args, **kwargs)
        finally:
            sys.setrecursionlimit(limit)  # which a compilation may raise

    return run
'''

_REPLAYED = (
    (
        "Run a module's `forward` as torch.compile makes it.\n",
        "Run a module's `forward` as torch.compile makes it, from CUDA graphs.\n",
    ),
    (
        "    its second call. `forward` runs as it is written for all others, on the CPU, for\n"
        "    gradients, under autocast, with hooks, while something else is captured or\n"
        "    compiled, and where it draws random numbers or writes to tensors that it did not\n"
        "    make, other than buffers.\n",
        "    its second call; results are copied out of the memory of the graph. `forward`\n"
        "    runs as it is written for all others, on the CPU, for gradients, under autocast,\n"
        "    with hooks, in other threads than the main one, while something else is captured\n"
        "    or compiled, and where it draws random numbers or writes to tensors that it did\n"
        "    not make, other than buffers.\n",
    ),
    ("torch.compile(forward, dynamic=False)", 'torch.compile(forward, mode="reduce-overhead", dynamic=False)'),
    ("if kind is None or has_hooks(self):", "if kind is None or has_hooks(self) or not in_main_thread():"),
    (
        "            kinds[kind] = traces_of_a_call(given) == before\n",
        "            parts = parts_of(result)\n"
        "            same = traces_of_a_call(given) == before\n"
        "            kinds[kind] = same and len(tensors_in(parts)) == len(parts)\n",
    ),
    ("return fast()(self, *args, **kwargs)", "return copy_of_result(fast()(self, *args, **kwargs))"),
)

_HAS_HOOKS = '''def has_hooks(module):
    """Whether something watches the calls of a module or of a part of it."""
    everywhere = torch.nn.modules.module
    if everywhere._global_forward_hooks or everywhere._global_forward_pre_hooks:
        return True
    parts = module.modules()
    return any(part._forward_hooks or part._forward_pre_hooks for part in parts)
'''

_IN_MAIN_THREAD = """def in_main_thread():
    return threading.current_thread() is threading.main_thread()
"""

_NAMES = ("compiled", "kind_of_call", "tensors_in", "is_plain", "needs_gradients", "has_hooks",
          "traces_of_a_call", "versions_of")  # fmt: skip


def _replayed(text: str) -> str:
    for plain, other in _REPLAYED:
        assert plain in text
        text = text.replace(plain, other)
    return text


COMPILED = Helper(
    decorator="compiled",
    names=_NAMES,
    text=sections(_DECORATOR, KIND_OF_CALL, NEEDS_GRADIENTS, _HAS_HOOKS, TRACES_OF_A_CALL),
    imports=("functools", "itertools", "sys"),
    summary='torch.compile, mode="default"',
)

COMPILED_AND_REPLAYED = Helper(
    decorator="compiled",
    names=(*_NAMES, "in_main_thread", "parts_of", "copy_of_result"),
    text=sections(
        _replayed(_DECORATOR),
        KIND_OF_CALL,
        NEEDS_GRADIENTS,
        _HAS_HOOKS,
        _IN_MAIN_THREAD,
        TRACES_OF_A_CALL,
        PARTS_OF,
        COPY_OF_RESULT,
    ),
    imports=("functools", "itertools", "sys", "threading"),
    summary='torch.compile, mode="reduce-overhead"',
)
