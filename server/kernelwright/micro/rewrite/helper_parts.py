"""Functions that several helpers have, as they are read in the user's file."""

KIND_OF_CALL = '''def kind_of_call(args, kwargs):
    """Return what calls of one kind share; None for one that has to run as written."""
    values = (*args, *kwargs.values())
    tensors = tensors_in(values)
    others = [value for value in values if not isinstance(value, torch.Tensor)]
    if not tensors or not all(is_plain(one) and one.numel() > 0 for one in tensors):
        return None
    if not all(isinstance(one, (type(None), bool, int, float, str)) for one in others):
        return None
    if torch.is_autocast_enabled("cuda") or torch.cuda.is_current_stream_capturing():
        return None
    places = tuple(isinstance(value, torch.Tensor) for value in values)
    layouts = tuple((one.shape, one.stride(), one.dtype) for one in tensors)
    modes = torch.is_inference_mode_enabled(), torch.cuda.current_stream()
    return (places, tuple(kwargs), layouts, repr(others), *modes)


def tensors_in(values):
    return [value for value in values if isinstance(value, torch.Tensor)]


def is_plain(tensor):
    """Whether a tensor is ordinary memory of the current GPU."""
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter) or not tensor.is_cuda:
        return False
    on_this_one = tensor.get_device() == torch.cuda.current_device()
    return on_this_one and tensor.layout is torch.strided
'''

NEEDS_GRADIENTS = '''def needs_gradients(module, values):
    """Whether a parameter or an argument requires a gradient."""
    tensors = itertools.chain(module.parameters(), values)
    return any(getattr(tensor, "requires_grad", False) for tensor in tensors)
'''

TRACES_OF_A_CALL = '''def traces_of_a_call(tensors):
    """Return what is changed by random numbers, and by writing to `tensors`."""
    generators = torch.get_rng_state().tolist(), torch.cuda.get_rng_state().tolist()
    return versions_of(tensors), generators


def versions_of(tensors):
    """Count how often each tensor has been written to."""
    return [0 if tensor.is_inference() else tensor._version for tensor in tensors]
'''

PARTS_OF = '''def parts_of(result):
    """List what a result consists of, through tuples, lists and dicts."""
    if type(result) is dict:
        result = list(result.values())
    if type(result) in (tuple, list):
        return [part for one in result for part in parts_of(one)]
    return [result]
'''

COPY_OF_RESULT = '''def copy_of_result(result):
    """Copy the tensors of a result: the next replay writes to those that it has."""
    if type(result) is dict:
        return {key: copy_of_result(one) for key, one in result.items()}
    if type(result) in (tuple, list):
        return type(result)(map(copy_of_result, result))
    return result.clone()
'''
