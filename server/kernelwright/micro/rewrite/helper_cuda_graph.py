"""The helper that replays a module's forward from a CUDA graph."""

from kernelwright.micro.rewrite.helper_parts import (
    COPY_OF_RESULT,
    KIND_OF_CALL,
    NEEDS_GRADIENTS,
    PARTS_OF,
    TRACES_OF_A_CALL,
)
from kernelwright.micro.rewrite.helpers import Helper, sections

_DECORATOR = '''def cuda_graph(forward):
    """Replay a module's `forward` from a CUDA graph: one launch for all its kernels.

    The first call with arguments of a kind (shapes, strides, dtypes, numbers) runs
    `forward` as it is written, the second captures a graph, and later ones copy their
    tensors in, replay it, and return copies of the results. Parameters and buffers are
    read where they lie, and buffers, such as the statistics of a batch norm, are updated
    there, once for each call. Where one of them, or an attribute, is replaced, the
    module starts anew; settings such as TF32 stay those of the capture.

    `forward` runs as it is written on the CPU, for gradients, under autocast, with
    hooks, while something else is captured or compiled, and where it draws random
    numbers, reads a number from a tensor, writes to tensors that it did not make, other
    than buffers, or returns such tensors.
    """
    modules = weakref.WeakKeyDictionary()  # apart from a module's own state
    lock = threading.RLock()

    @functools.wraps(forward)
    def run(self, *args, **kwargs):
        kind = None if torch.compiler.is_compiling() else kind_of_call(args, kwargs)
        values = (*args, *kwargs.values())
        if kind is None or (torch.is_grad_enabled() and needs_gradients(self, values)):
            return forward(self, *args, **kwargs)
        with lock:
            graphs = modules.get(self)
            if graphs is None or not graphs.hold():
                captures = 0 if graphs is None else graphs.captures
                graphs = modules[self] = ModuleGraphs(self, captures)
            if graphs.may_capture(kind):
                graphs.capture(kind, functools.partial(forward, self), args, kwargs)
            captured = graphs.find(kind)
            if captured is not None:
                return captured.replay(values)
        call = functools.partial(forward, self, *args, **kwargs)
        return graphs.observe(kind, call, values)

    return run
'''

_MODULE_GRAPHS = '''class ModuleGraphs:
    """The graphs of a module, which hold while all that it consists of is the same."""

    most = 4  # captures for one module: each keeps the memory of a whole call

    def __init__(self, module, captures):
        parts = list(module.modules())
        of_all = torch.nn.modules.module
        self.captures = captures
        self.captured = {}
        self.repeatable = {}  # by kind of call: whether a graph would do the same
        self.hooks = [of_all._global_forward_hooks, of_all._global_forward_pre_hooks]
        self.attributes, self.places = [], []
        for part in parts:
            self.hooks += [part._forward_hooks, part._forward_pre_hooks]
            self.attributes += [vars(part), part._modules]
            self.places += [part._parameters, part._buffers]
        self.before = list(map(dict, self.attributes))
        self.values = self.read()
        self.apart = [
            (place, name, value)
            for place in self.attributes
            for name, value in place.items()
            if isinstance(value, torch.Tensor)  # which == would compare by its numbers
        ]
        self.tensors = tensors_in([*self.values, *(value for *_, value in self.apart)])
        self.buffers = list(module.buffers())
        updated = set(map(id, self.buffers))
        self.fixed = [tensor for tensor in self.tensors if id(tensor) not in updated]
        waits = any(isinstance(part, torch.nn.SyncBatchNorm) for part in parts)
        self.plain = all(map(is_plain, self.tensors)) and not waits
        self.addresses = self.read_addresses()

    def read(self):
        """List all parameters and buffers, as they are now."""
        return list(itertools.chain.from_iterable(map(dict.values, self.places)))

    def read_addresses(self):
        return list(map(torch.Tensor.data_ptr, self.tensors)) if self.plain else []

    def hold(self):
        """Whether nothing has been replaced, not even the memory of a tensor."""
        values = self.read()
        try:
            return (
                len(values) == len(self.values)
                and all(map(operator.is_, values, self.values))
                and all(place.get(name) is value for place, name, value in self.apart)
                and all(map(operator.eq, self.attributes, self.before))
                and self.read_addresses() == self.addresses
            )
        except Exception:  # other things than before, which do not compare with them
            return False

    def find(self, kind):
        """Return the captured call of a kind, unless there is none or hooks watch."""
        return None if any(self.hooks) else self.captured.get(kind)

    def may_capture(self, kind):
        new = self.repeatable.get(kind, False) and kind not in self.captured
        return new and self.captures < self.most and not any(self.hooks)

    def capture(self, kind, call, args, kwargs):
        """Capture a call of a kind; its buffers stay what they are until a replay."""
        self.captures += 1
        kept = [(memory, memory.clone()) for memory in memory_of(self.buffers).values()]
        try:
            captured = CapturedCall(call, args, kwargs, self.buffers)
        finally:
            for memory, before in kept:
                memory.copy_(before)  # which counts as no write, unlike a tensor's copy_
        if captured.graph is None:
            self.repeatable[kind] = False
        else:
            self.captured[kind] = captured

    def observe(self, kind, call, values):
        """Run a call; note at the first of its kind whether a graph does the same."""
        if kind in self.repeatable or not self.plain or any(self.hooks):
            return call()
        given = tensors_in(values)
        before = traces_of_a_call(self.fixed + given)
        result = call()
        same = traces_of_a_call(self.fixed + given) == before and self.hold()
        self.repeatable[kind] = same and is_new(result, self.tensors + given)
        return result
'''

_IS_NEW = '''def is_new(result, given):
    """Whether a result is tensors in memory of their own, which a copy equals."""
    tensors = parts_of(result)
    if not all(type(one) is torch.Tensor and is_plain(one) for one in tensors):
        return False
    if any(one.requires_grad for one in tensors):
        return False
    memory = memory_of(tensors)
    apart = len(memory) == len(tensors) and memory.keys().isdisjoint(memory_of(given))
    return apart and all(one.clone().stride() == one.stride() for one in tensors)


def memory_of(tensors):
    """Return the memory in which tensors lie, by its address."""
    storages = [tensor.untyped_storage() for tensor in tensors]
    return {storage.data_ptr(): storage for storage in storages}
'''

_CAPTURED_CALL = '''class CapturedCall:
    """One call as a CUDA graph, with the tensors that it reads and writes."""

    def __init__(self, call, args, kwargs, buffers):
        values = (*args, *kwargs.values())
        own = [one.clone() if isinstance(one, torch.Tensor) else one for one in values]
        kwargs = dict(zip(kwargs, own[len(args) :], strict=True))
        args = own[: len(args)]
        self.inputs = own
        self.graph = None  # where there can be none
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        try:
            with torch.cuda.stream(stream):
                with NumbersRead() as numbers:
                    call(*args, **kwargs)
                for _ in range(2):  # libraries set themselves up in the first calls
                    call(*args, **kwargs)
        finally:
            torch.cuda.current_stream().wait_stream(stream)
        if numbers.found:
            return
        before = versions_of(buffers)
        self.graph = torch.cuda.CUDAGraph()
        mode = "thread_local"  # other threads, such as a data loader's, may go on
        with torch.cuda.graph(self.graph, stream=stream, capture_error_mode=mode):
            self.result = call(*args, **kwargs)
        moved = map(operator.ne, versions_of(buffers), before)
        self.written = list(itertools.compress(buffers, moved))

    def replay(self, values):
        for own, value in zip(self.inputs, values, strict=True):
            if isinstance(own, torch.Tensor):
                own.copy_(value)
        self.graph.replay()
        torch.autograd.graph.increment_version(self.written)
        return copy_of_result(self.result)
'''

_NUMBERS_READ = '''class NumbersRead(torch.utils._python_dispatch.TorchDispatchMode):
    """Notes whether Python waits for a number from a tensor, which a graph would not."""

    found = False
    # Else torch.compile would take no part in the call, nor in any later one.
    is_infra_mode = ignore_compile_internals = classmethod(lambda cls: True)

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if torch.Tag.data_dependent_output in function.tags:
            self.found = self.found or any(map(is_plain, tensors_in(args)))
        return function(*args, **(kwargs or {}))
'''

CUDA_GRAPH = Helper(
    decorator="cuda_graph",
    names=(
        "cuda_graph",
        "kind_of_call",
        "tensors_in",
        "is_plain",
        "needs_gradients",
        "ModuleGraphs",
        "traces_of_a_call",
        "parts_of",
        "versions_of",
        "is_new",
        "memory_of",
        "copy_of_result",
        "CapturedCall",
        "NumbersRead",
    ),
    text=sections(
        _DECORATOR,
        KIND_OF_CALL,
        NEEDS_GRADIENTS,
        _MODULE_GRAPHS,
        TRACES_OF_A_CALL,
        PARTS_OF,
        _IS_NEW,
        COPY_OF_RESULT,
        _CAPTURED_CALL,
        _NUMBERS_READ,
    ),
    imports=("functools", "itertools", "operator", "threading", "weakref"),
)
