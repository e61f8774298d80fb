"""What the capture writes down: canonical ops, bound arguments, names, and the expression that made each call."""

import pytest
import torch

from kernelwright.proof.worker import without_memory
from kernelwright.proof.worker.failed import JobFailed
from kernelwright.values import CodeSpan, FailureKind, Graph, TensorRef
from kernelwright.wire import decode, encode
from micro.rewrite.observe import captured

HEAD = """import torch
import torch.nn as nn
import torch.nn.functional as F


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 4)
        self.bn = nn.BatchNorm1d(4)
        self.pools = nn.Sequential(nn.ReLU(), nn.Tanh())

    def forward(self, x):
"""
TAIL = """

def get_inputs():
    return [torch.randn(5, 6)]


def get_init_inputs():
    return []
"""


def graph_of(body: str) -> tuple[Graph, str]:
    text = HEAD + "".join(f"        {line}\n" for line in body.splitlines()) + TAIL
    return captured(text), text


def ops(body: str) -> list[str]:
    return [node.op for node in graph_of(body)[0].nodes]


def source(span: CodeSpan | None, text: str) -> str:
    assert span is not None
    assert span.start_line == span.end_line
    return text.splitlines()[span.start_line][span.start_column : span.end_column]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return x + 1", ["add"]),
        ("return torch.add(x, 1)", ["add"]),
        ("return 1 - x", ["sub"]),
        ("return x.mul(2) / 3", ["mul", "div"]),
        ("return torch.relu(F.relu(x.relu()))", ["relu", "relu", "relu"]),
        ("return F.softmax(x, 1) @ x.T", ["softmax", "t", "matmul"]),
        ("return torch.max(x, 1)[0] + torch.max(x, x).sum()", ["max", "maximum", "sum", "add"]),
        ("return x.float().half()", ["to", "to"]),
        ("return self.linear(x)", ["linear"]),
        ("return self.pools(x)", ["relu", "tanh"]),
        ("return -x ** 2 > 0", ["pow", "neg", "gt"]),
    ],
)
def test_one_name_for_each_meaning(body: str, expected: list[str]) -> None:
    assert ops(body) == expected


def test_arguments_are_bound_to_one_signature() -> None:
    graph, _ = graph_of("return torch.softmax(x, dim=-1).sum(-1, keepdim=True).mean()")
    softmax, total, mean = graph.nodes
    assert softmax.kwargs["dim"] == 1
    assert (total.kwargs["dim"], total.kwargs["keepdim"]) == ((1,), True)
    assert mean.kwargs["dim"] == (0, 1)


def test_operators_of_one_kind_are_bound_alike() -> None:
    graph, _ = graph_of("return x.cumsum(1) + torch.cumprod(x, dim=1) * (x > 0).all(-1, keepdim=True)")
    assert [node.kwargs for node in graph.nodes if node.op.startswith("cum")] == [{"dim": 1, "dtype": None}] * 2
    assert [node.kwargs for node in graph.nodes if node.op == "all"] == [{"dim": (1,), "keepdim": True}]


def test_reflected_operators_keep_the_order_of_the_source() -> None:
    graph, _ = graph_of("return 1 - x")
    assert graph.nodes[0].args[0] == 1
    assert isinstance(graph.nodes[0].args[1], TensorRef)


def test_values_know_where_they_come_from() -> None:
    graph, _ = graph_of("return self.linear(x)")
    by_name = {value.name: value for value in graph.values if value.name}
    assert by_name["x"].origin == "input"
    assert by_name["linear.weight"].origin == "parameter"
    assert by_name["bn.running_mean"].origin == "buffer"
    assert graph.nodes[0].args == (
        TensorRef(by_name["x"].id), TensorRef(by_name["linear.weight"].id), TensorRef(by_name["linear.bias"].id)
    )  # fmt: skip
    assert graph.value(graph.outputs[0]).type.shape == (5, 4)


@pytest.mark.parametrize(
    ("body", "index", "expected"),
    [
        ("return torch.relu(self.linear(x)) * 2", 0, "self.linear(x)"),
        ("return torch.relu(self.linear(x)) * 2", 1, "torch.relu(self.linear(x))"),
        ("return torch.relu(self.linear(x)) * 2", 2, "torch.relu(self.linear(x)) * 2"),
        ("größe = 'ä'; y = x * 2; return y", 0, "x * 2"),
        ("return x.T", 0, "x.T"),
        ("x += 1; return x", 0, "x += 1"),
    ],
)
def test_spans_are_the_innermost_expression(body: str, index: int, expected: str) -> None:
    graph, text = graph_of(body)
    assert source(graph.nodes[index].where, text) == expected


def test_in_place_calls_make_a_new_value() -> None:
    graph, _ = graph_of("y = x * 2\ny.add_(1)\nreturn y")
    product, added = graph.nodes
    assert added.inplace
    assert added.args[0] == TensorRef(product.outputs[0])
    assert graph.outputs == added.outputs != product.outputs


def test_composite_modules_are_single_nodes_with_their_path() -> None:
    graph, _ = graph_of("return self.bn(self.linear(x))")
    norm = graph.nodes[-1]
    assert (norm.op, norm.module, norm.kwargs["training"]) == ("batch_norm", "bn", True)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("if x.sum() > 0:\n    return x\nreturn -x", "decides which branch"),
        ("return x * x.max().item()", ".item()"),
        ("return torch.tensor(x.tolist())", "taken out of a tensor"),
        ("print(x)\nreturn x", "printed"),
    ],
)
def test_what_leaves_torch_is_refused_with_its_line(body: str, reason: str) -> None:
    with pytest.raises(JobFailed) as raised:
        graph_of(body)
    failure = raised.value.failure
    assert failure.kind is FailureKind.NOT_CAPTURED
    assert reason in failure.message
    assert failure.line == HEAD.count("\n")


def test_a_graph_survives_the_wire() -> None:
    graph, _ = graph_of("return torch.softmax(self.linear(x), dim=1)")
    assert decode(Graph, encode(graph)) == graph


def test_work_that_would_not_fit_is_captured_by_shape_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    big = (HEAD + "        return torch.relu(x) + 1\n" + TAIL).replace(
        "torch.randn(5, 6)", "torch.randn(400000, 400000)"
    )
    assert captured(big).nodes[1].estimated_bytes == 2 * 4 * 400000**2


@pytest.mark.parametrize(
    "reading",
    [
        "super().__init__()\n        self.rates = [rate.item() for rate in torch.linspace(0, 0.1, 3)]",
        "super().__init__()\n        self.rates = torch.linspace(0, 0.1, 3).numpy().tolist()",
    ],
)
def test_a_constructor_may_read_numbers_of_tensors(monkeypatch: pytest.MonkeyPatch, reading: str) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    text = HEAD.replace("super().__init__()", reading) + "        return self.linear(x) * self.rates[1]\n" + TAIL
    graph = captured(text)
    assert [node.op for node in graph.nodes] == ["linear", "mul"]
    assert graph.nodes[1].args[1] == pytest.approx(0.05)
    assert [graph.value(a.id).name for a in graph.nodes[0].args if isinstance(a, TensorRef)] == [
        "x", "linear.weight", "linear.bias"
    ]  # fmt: skip


def test_inputs_stay_without_memory_where_the_constructor_reads_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    text = (HEAD + "        return x * self.rate\n" + TAIL).replace("torch.randn(5, 6)", "torch.randn(400000, 400000)")
    text = text.replace("super().__init__()", "super().__init__()\n        self.rate = torch.ones(1).item()")
    assert captured(text).nodes[0].args[1] == 1.0


@pytest.mark.parametrize("large", ["torch.randn(2000, 1000)", "torch.ones(2000, 1).expand(2000, 1000).contiguous()"])
def test_a_constructor_on_real_tensors_takes_a_part_of_what_is_free(
    monkeypatch: pytest.MonkeyPatch, large: str
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(without_memory, "free_on", lambda device: 10_000_000)
    text = HEAD + "        return x * self.rate\n" + TAIL
    reading = f"super().__init__()\n        self.rate = torch.ones(1).item()\n        self.large = {large}"
    with pytest.raises(JobFailed, match=r"more than the 0.005 GB that may be used here"):
        captured(text.replace("super().__init__()", reading))


def test_what_a_constructor_raises_is_told_as_before() -> None:
    reading = "super().__init__()\n        raise ValueError('rates are missing')"
    with pytest.raises(JobFailed, match="Constructing Model raised ValueError: rates are missing"):
        captured(HEAD.replace("super().__init__()", reading) + "        return x\n" + TAIL)
