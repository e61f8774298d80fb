"""What a name or an annotation tells of a parameter, and in which order choices are made where nothing is told."""

import ast
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence

_DEVIATIONS = 3  # choices of one guess that are not the usual ones

SIZE = re.compile(r"(?:[nmkbhdcst]|n_\w+|num_\w+|\w*(?:size|dim|dims|len|length|features|channels|block)\w*)$", re.I)
FLAG = re.compile(
    r"(?:is_|use_|has_|with_|return_)\w+|causal|training|train$|inplace|bias$|affine$|keepdim|interleaved|"
    r"ceil_mode|count_include\w*|trans(?:pose)?_\w+|largest$|sorted$",
    re.I,
)
FRACTION = re.compile(r"(?:p|dropout\w*|scale|sm_scale|alpha|beta_?|momentum|slope|\w*_scale|temperature)$")
INDEX = re.compile(r"\w*(?:idx|idxs|index|indices|index\w*|ids|labels?|targets?|tokens?|\w_map|table|tables)$", re.I)
STARTS = re.compile(r"\w*(?:cu_|cum|indptr|starts?$|start_loc|offsets?$|_loc$)\w*", re.I)
ONE_MORE = re.compile(r"\w*(?:cu_|cum|indptr)\w*", re.I)  # starts with the end of the last one
LENGTHS = re.compile(r"\w*(?:lens?|lengths?|seqlens?)$", re.I)
OF_BATCH = re.compile(r"cu_\w+|b_\w*(?:len|loc|idx)|(?!max)\w*(?:lens|seqlens|lengths|indptr)", re.I)
LONGEST = re.compile(r"max_\w*(?:len|length|seqlen)\w*", re.I)
OF_SEQUENCES = re.compile(r"\w*(?:req|batch|seq)\w*(?:idx|ids?|index)$", re.I)
CLASS = re.compile(r"(?:labels?|targets?)$")  # one number for each row
VECTOR = re.compile(r"(?:w|b|weight|bias|gamma|beta|scale|shift|\w+_(?:weight|bias))$")
NOTHING = re.compile(r"(?:device|stream|group)$")
OF_OPERATORS = re.compile(r"(?:offset|dims?\d?|ax[ie]s|steps?|diagonal|\w*dtype|eps)$")  # numbers, flags and dtypes
SHAPE = re.compile(r"normalized_shape$")
OF_ROWS = re.compile(r"(?:\w+_)?(?:mean|rstd|rms|invstd|lse|logsumexp|delta)$", re.I)  # one number for each row
SEVERAL = re.compile(r"[tT]uple\[((?:torch\.)?Tensor(?:,\s*(?:torch\.)?Tensor)*)\]")  # an annotation
HIDDEN_STATES = re.compile(r"(?:\w+_)?hidden_states?$|inputs_embeds$")  # by batch, token and feature
CONDITION = re.compile(r"(?:cond|condition)$")
AXIS = re.compile(r"(?:dim|axis)$")
_AXES = ("", "int", "int | None", "None | int", "Optional[int]", "typing.Optional[int]")  # annotations of one
LAST_DIMENSION = re.compile(
    r"(?:dim|d_model|d|hidden\w*|n_embd|embed\w*|in_features|input_size|normalized_shape|features|size)$"
)
KNOWN_SIZES = (
    (re.compile(r".*heads?$|h$|.*_h$", re.I), 16),
    (re.compile(r".*head_?(?:dim|size)\w*$", re.I), 64),
    (re.compile(r".*(?:kernel_size)$"), 3),
    (re.compile(r".*(?:stride|dilation)$"), 1),
    (re.compile(r".*padding$"), 1),
    (re.compile(r".*groups?$"), 8),
    (re.compile(r".*channels$"), 64),
    (re.compile(r".*(?:vocab\w*|num_embeddings)$"), 32768),
    (re.compile(r"(?:b|batch\w*)$"), 16),
    (re.compile(r".*(?:layers|depth)$"), 2),
    (re.compile(r".*(?:block|group|chunk|tile)_?(?:size|[mnk])$", re.I), 64),
    (re.compile(r".*top_?k$"), 2),
    (re.compile(r"(?:layer|block)_?(?:idx|id|index|number)$|\w+_idx$"), 0),
)

Choice = Mapping[str, str]


def choices(deviations: Sequence[tuple[int, str, str]]) -> Iterator[Choice]:
    """What is chosen for each key that is not chosen as usual, the cheapest first."""
    combined = (
        kept
        for count in range(_DEVIATIONS + 1)
        for kept in itertools.combinations(deviations, count)
        if len({key for _, key, _ in kept}) == count
    )
    for kept in sorted(combined, key=lambda kept: sum(cost for cost, _, _ in kept)):
        yield {key: value for _, key, value in kept}


def known_size(name: str, choice: Choice) -> str:
    known = next((size for pattern, size in KNOWN_SIZES if pattern.match(name)), None)
    if known is not None:
        return str(known)
    return {"equal": "64", "small": "64"}.get(choice.get("sizes", ""), "1024")


def sequence(name: str, count: int) -> list[str]:
    """Values for a parameter that is a sequence of so many numbers; 0: nobody tells how many."""
    if "mask" in name:
        return [f"[{', '.join(['True'] * (count or 3))}]"]
    if re.match(r"(?:dims?|ax[ie]s)$", name):
        return ["[-1]", "[0]", "[0, 1]"] if count < 2 else [f"[{', '.join(map(str, range(count)))}]"]
    return [f"[{', '.join([known_size(name, {'sizes': 'equal'})] * (count or 2))}]"]


def scalar(parameter: ast.arg, options: Sequence[str | int | bool] = ()) -> list[str]:
    """Values for a parameter that is no tensor, as far as its annotation, comparisons or name tell; none for a plain size."""
    annotation = ast.unparse(parameter.annotation) if parameter.annotation else ""
    name = parameter.arg
    literal = re.search(r"Literal\[([^\[\]]*)\]", annotation)
    if literal:
        return [word.strip() for word in literal[1].split(",")]
    if re.search(r"(?:list|List|Sequence|tuple|Tuple)\[int", annotation):
        return ["[128, 128]", f"[{', '.join(['1'] * 16)}]"]
    if options:
        return list(dict.fromkeys(map(repr, options)))
    if "dtype" in annotation or name.endswith("dtype"):
        return ["float16", "float32", "bfloat16"]
    if annotation.startswith("bool") or (not annotation and FLAG.match(name)):
        return ["False", "True"]
    if "eps" in name:
        return ["1e-06"]
    if annotation.startswith("float") or (not annotation and FRACTION.match(name)):
        return ["0.5"]
    if annotation.startswith("str"):
        return ["''"]
    if ("None" in annotation and "int" not in annotation) or NOTHING.match(name):
        return ["None"]
    if AXIS.match(name):
        return ["-1", "0", "1"] if annotation in _AXES else []
    if re.match(r"(?:offset|diagonal|dim\d)$", name):
        return [str(int(name[-1]) % 2) if name[-1].isdigit() else "0"]
    return []
