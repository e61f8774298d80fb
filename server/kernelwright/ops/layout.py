"""Views and copies of one tensor, and what joins, picks or orders elements without computing any."""

from kernelwright.ops.row import Kind, Layout, Row, rows


def _view(name: str, signature: str = "", /, **more: object) -> Row:
    return Row(name, Kind.LAYOUT, signature, view=True, **more)  # type: ignore[arg-type]


def _copy(name: str, signature: str, /, layout: Layout = Layout.KEPT, *, passes_on: bool = True) -> Row:
    return Row(name, Kind.LAYOUT, signature, "input", layout=layout, passes_on=passes_on, spelled=f".{name}")


def _gather(name: str, signature: str = "", /, *, partial: bool = False, spelled: str = "") -> Row:
    return Row(name, Kind.GATHER, signature, partial=partial, spelled=spelled)


_EMBEDDING = "input weight * padding_idx=None max_norm=None norm_type=2.0 scale_grad_by_freq=False sparse=False"


LAYOUT = rows(
    _copy("clone", "input", passes_on=False),
    _copy("contiguous", "input * memory_format=None", Layout.CONTIGUOUS),
    _copy("detach", "input"),
    _copy("to", "input * dtype=None"),
    _view("chunk", partial=True),
    _view("diagonal", partial=True),
    _view("expand", spread=True),
    _view("expand_as"),
    Row("flip", Kind.LAYOUT, "input dims", as_given=True, spelled=".flip"),
    _view("flatten", "input * start_dim=0 end_dim=-1", reshapes=True),
    _view("getitem", "input * index", partial=True, spelled="[]"),
    _view("movedim", aliases="moveaxis"),
    _view("narrow", "input * dim start length", partial=True),
    _view("permute", "input * dims", spread=True),
    _view("reshape", "input * shape", reshapes=True, spread=True),
    _view("select", "input * dim index", partial=True),
    _view("slice", partial=True),
    _view("split", partial=True),
    _view("squeeze", "input * dim=None", reshapes=True),
    _view("t", "input", aliases="T"),
    _view("transpose", "input * dim0 dim1", aliases="swapaxes swapdims"),
    _view("unbind", partial=True),
    _view("unflatten"),
    _view("unsqueeze", "input * dim", reshapes=True),
    _view("view", "input * shape", reshapes=True, spread=True),
    _view("view_as", "input other", reshapes=True),
    _gather("embedding", _EMBEDDING, partial=True, spelled="torch.nn.functional.embedding"),
    _gather("gather", "input dim index * sparse_grad=False", partial=True),
    _gather("index_select", "input dim index", partial=True),
    _gather("scatter"),
    _gather("scatter_add"),
    _gather("sort"),
    _gather("take_along_dim", partial=True),
    _gather("topk"),
    _gather("tril", "input * diagonal=0"),
    _gather("triu", "input * diagonal=0"),
    Row("repeat", Kind.LAYOUT, spread=True),
    Row("tile", Kind.LAYOUT, spread=True),
    Row("take", Kind.LAYOUT, partial=True),
    Row("unfold", Kind.LAYOUT, partial=True),
    Row("cat", Kind.LAYOUT, "tensors dim=0", as_given=True, aliases="concat concatenate"),
    Row("stack", Kind.LAYOUT),
)
