"""Workload lines: what they mean, where they are wrong, and that nothing but a call gets through."""

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.source.workload import WorkloadError, evaluate, find_workload, problems, workload_lines
from kernelwright.source.workload.lines import by_entry
from kernelwright.values import Call, DType, Made, Namespace, Refusal, TensorSpec, Workload, WorkloadSource


def check(text: str, expected: Call) -> None:
    assert evaluate(text) == expected


def refused(text: str, words: str, column: int | None = None) -> None:
    with pytest.raises(WorkloadError) as caught:
        evaluate(text)
    assert words in caught.value.message
    if column is not None:
        assert caught.value.column == column


def outcome(text: str) -> Call | WorkloadError:
    try:
        return evaluate(text)
    except WorkloadError as error:
        return error


def test_a_call_with_generators() -> None:
    check(
        "f(randn(8, 16), randint(0, 10, 4), 3, scale=0.5, causal=True, name='a')",
        Call(
            "f",
            (TensorSpec("randn", (8, 16)), TensorSpec("randint", (4,), "int64", (0, 10)), 3),
            {"scale": 0.5, "causal": True, "name": "a"},
        ),
    )


def test_keyword_arguments_are_names_in_any_order() -> None:
    check(
        "solve(C=out(M*N), A=randn(M, K), M=2**3, N=M+1, K=N//3)",
        Call(
            "solve",
            (),
            {"C": TensorSpec("empty", (72,), role="out"), "A": TensorSpec("randn", (8, 3)), "M": 8, "N": 9, "K": 3},
        ),
    )


def test_literals_of_cuda() -> None:
    check("f(1<<4, 2.0f, 16u, nullptr, true, '2.0f')", Call("f", (16, 2.0, 16, None, True, "2.0f"), {}))


@pytest.mark.parametrize(
    ("launch", "grid", "block", "shared"),
    [
        ("(n+255)/256, 256", (4,), (256,), 0),
        ("dim3((n + 31) / 32, 2), dim3(16, 16)", (32, 2), (16, 16), 0),
        ("(1, 2, 3), (n, 1), 4*n", (1, 2, 3), (1000, 1), 4000),
        ("1<<10, 1 << 5, 0, 0", (1024,), (32,), 0),
    ],
)
def test_a_launch_of_cuda(launch: str, grid: tuple[int, ...], block: tuple[int, ...], shared: int) -> None:
    given = {"n": 1000, "a": 2.0, "y": TensorSpec("randn", (1000,), role="inout")}
    check(
        f"k<<<{launch}>>>(n=1000, a=2.0f, y=inout(randn(n)))",
        Call("k", (), given, grid=grid, block=block, shared=shared),
    )
    check(
        f"k< float,4 ><<<{launch}>>>(n=1000, a=2.0f, y=inout(randn(n)))",
        Call("k", (), given, grid=grid, block=block, shared=shared, template="float, 4"),
    )


@pytest.mark.parametrize(
    ("text", "words", "column"),
    [
        ("k<<<4>>>(randn(4))", "A launch has a grid and a block, as in kernel<<<128, 256>>>(…).", 4),
        ("k<<<1, 2.5>>>(randn(4))", "A block is one to three whole numbers: 128, dim3(16, 16) or (16, 16).", 7),
        ("k<<<dim3(1, 2, 3, 4), 1>>>(randn(4))", "A grid is one to three whole numbers", 4),
        ("k<<<m, 1>>>(randn(4))", "m is not defined", 4),
        ("k<int, 2><<<m, 1>>>(randn(4))", "m is not defined", 12),
        ("k<<<1, 1, 0.5>>>(randn(4))", "The shared memory of a launch is a whole number of bytes.", 10),
        ("k<<<1, 1>>>(randn(q))", "q is not defined", 18),
    ],
)
def test_a_launch_that_cannot_be_made(text: str, words: str, column: int) -> None:
    refused(text, words, column)


def test_a_module_is_constructed_then_called() -> None:
    check(
        "RMSNorm(dim=64, eps=1e-6)(randn(8, dim))",
        Call("RMSNorm", (TensorSpec("randn", (8, 64)),), {}, (), {"dim": 64, "eps": 1e-6}),
    )


def test_a_kernel_is_launched_on_its_grid() -> None:
    check(
        "add[(8, 2)](randn(16), n=16, BLOCK=1)",
        Call("add", (TensorSpec("randn", (16,)),), {"n": 16, "BLOCK": 1}, grid=(8, 2)),
    )
    check("add[n // 4](n=16)", Call("add", (), {"n": 16}, grid=(4,)))


def test_an_autograd_function_is_applied() -> None:
    check("Softmax.apply(randn(8), None)", Call("Softmax", (TensorSpec("randn", (8,)), None), {}, applied=True))


def test_a_constructor_is_given_what_a_class_makes() -> None:
    check(
        "Block(Config(8, dtype=float16, act=Act('relu')), 0)(randn(8))",
        Call(
            "Block",
            (TensorSpec("randn", (8,)),),
            {},
            (Made("Config", (8,), {"dtype": DType("float16"), "act": Made("Act", ("relu",), {})}), 0),
            {},
        ),
    )


def test_any_call_is_given_data_by_attributes() -> None:
    inner = Namespace({"eps": 1e-6, "dtype": DType("bfloat16")})
    check(
        "f(randn(8), SimpleNamespace(n=2 * h, sizes=[8, 4], inner=SimpleNamespace(eps=1e-6, dtype=bf16)), h=4)",
        Call("f", (TensorSpec("randn", (8,)), Namespace({"n": 8, "sizes": [8, 4], "inner": inner})), {"h": 4}),
    )
    check(
        "Block(SimpleNamespace(bias=False))(randn(8))",
        Call("Block", (TensorSpec("randn", (8,)),), {}, (Namespace({"bias": False}),), {}),
    )


def test_a_dtype_is_an_argument() -> None:
    check(
        "cast(randn(8), torch.float16, to=bf16)",
        Call("cast", (TensorSpec("randn", (8,)), DType("float16")), {"to": DType("bfloat16")}),
    )


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("randperm(8)", TensorSpec("randperm", (8,), "int64")),
        ("offsets(5, 64)", TensorSpec("offsets", (5,), "int64", (64,))),
        ("offsets(1, 0, dtype=int32)", TensorSpec("offsets", (1,), "int32", (0,))),
        ("tensor([0, 12, 64], dtype=int32)", TensorSpec("tensor", (3,), "int32", (0, 12, 64))),
        ("tensor([[0.5, 1], [2, 3]])", TensorSpec("tensor", (2, 2), "float32", (0.5, 1, 2, 3))),
        ("tensor(True)", TensorSpec("tensor", (), "bool", (True,))),
        ("randn(2, 3, strides=(8, 2))", TensorSpec("randn", (2, 3), strides=(8, 2))),
        ("randn(2, 3, strides=(0, 1))", TensorSpec("randn", (2, 3), strides=(0, 1))),
        ("out(randn(2, 3, strides=(3, 1)))", TensorSpec("randn", (2, 3), role="out", strides=(3, 1))),
        ("randn(8, 16, dtype=float16)", TensorSpec("randn", (8, 16), "float16")),
        ("torch.randn(8, 16, dtype=torch.bfloat16)", TensorSpec("randn", (8, 16), "bfloat16")),
        ("randn((8, 16))", TensorSpec("randn", (8, 16))),
        ("rand(4, dtype='float64')", TensorSpec("rand", (4,), "float64")),
        ("randn()", TensorSpec("randn", ())),
        ("zeros(3, dtype=bool)", TensorSpec("zeros", (3,), "bool")),
        ("full((2, 3), 1.5)", TensorSpec("full", (2, 3), parameters=(1.5,))),
        ("full(2, 3, value=-inf)", TensorSpec("full", (2, 3), parameters=(float("-inf"),))),
        ("arange(10)", TensorSpec("arange", (10,), "int64", (0, 10, 1))),
        ("arange(2, 9, 3)", TensorSpec("arange", (3,), "int64", (2, 9, 3))),
        ("inout(randn(4))", TensorSpec("randn", (4,), role="inout")),
        ("out(4, dtype=int32)", TensorSpec("empty", (4,), "int32", role="out")),
        ("out(zeros(4))", TensorSpec("zeros", (4,), role="out")),
        ("randn(2, 3, layout=transposed)", TensorSpec("randn", (2, 3), layout="transposed")),
        ("randn(1, 2, 3, 4, layout=channels_last)", TensorSpec("randn", (1, 2, 3, 4), layout="channels_last")),
    ],
)
def test_generators(written: str, expected: TensorSpec) -> None:
    check(f"f({written})", Call("f", (expected,), {}))


@pytest.mark.parametrize(
    ("text", "words", "column"),
    [
        ("", "does not read as a call", 0),
        ("softmax", "must read as a call", 0),
        ("f(randn(8, 16)", "does not read as a call", None),
        ("f(normal(8))", "There is no generator normal", 2),
        ("f(randn(n))", "n is not defined", 8),
        ("f(x=randn(4), y=x)", "not a number", 16),
        ("f(n=m, m=n)", "defined by itself", None),
        ("f(randn(8, dtype=float15))", "There is no dtype float15", 2),
        ("f(randn(8, dtype=int32))", "floating-point", 2),
        ("f(randn(8, device='cuda'))", "chooses the device", 2),
        ("f(randn(-1))", "negative", 2),
        ("f(randn(2, 3, strides=(1, 1)))", "lie over each other", 2),
        ("f(randn(2, 3, strides=4))", "one number for each dimension", 2),
        ("f(tensor([1, [2]]))", "equal lengths", 2),
        ("f(tensor(3, 4))", "takes its elements", 2),
        ("f(randperm(2, 3))", "takes one size", 2),
        ("f(Config(5))", "Config(…) can be given to a constructor only", 2),
        ("F(Config(n=randn(5)))(randn(8))", "tensors cannot be given to it", 2),
        ("F(Config(**n))(randn(8))", "cannot be used", 2),
        ("f(SimpleNamespace(5))", "gives attributes by their names", 2),
        ("f(SimpleNamespace(n=5, **m))", "gives attributes by their names", 2),
        ("f(SimpleNamespace(n=[randn(5)]))", "no tensors", 2),
        ("f(SimpleNamespace(s=struct(x=randn(5))))", "no tensors", 2),
        ("F(SimpleNamespace(n=Config(5)))(randn(8))", "no objects of other classes", 2),
        ("f(torch.SimpleNamespace(n=5))", "There is no generator SimpleNamespace", 2),
        ("f(n + 1, n=SimpleNamespace(m=5))", "n is not a number", 2),
        ("F(config(5))(randn(8))", "There is no generator config", 2),
        ("f(offsets(5))", "offsets takes how many there are, and the last of them", 2),
        ("f(offsets(1, 64))", "there are two or more", 2),
        ("f(offsets(5, -1))", "the last is not negative", 2),
        ("f(float16 + 1)", "numbers only", 2),
        ("f[1.5](randn(8))", "one to three whole numbers", 2),
        ("f[1, 2, 3, 4](randn(8))", "one to three whole numbers", 2),
        ("f.g[1](randn(8))", "must begin with the name", 0),
        ("f(randn(1.5))", "whole numbers", 2),
        ("f(randn(2**20, 2**20))", "too large", 2),
        ("f(randn(2**35), randn(1))", "too large", 16),
        ("f(randint(4))", "lower and an upper", 2),
        ("f(randint(4, 4, 2))", "below", 2),
        ("f(10**10**10)", "too large", 2),
        ("f(9**99)", "64 bits", 2),
        ("f(1 << 100)", "0 to 63", 2),
        ("f(1 / 0)", "cannot be computed", 2),
        ("f('a' * 10**9)", "numbers only", 2),
        ("f((1,) * 9)", "numbers only", 2),
        ("f(().__class__)", "attribute", 2),
        ("f(torch.cuda)", "attribute", 2),
        ("f.g(randn(8))", "must begin with the name", 0),
        ("__import__('os').system('true')", "must begin with", 0),
        ("f(__import__('os'))", "no generator __import__", 2),
        ("f(eval('1'))", "no generator eval", 2),
        ("f([x for x in (1,)])", "cannot be used", 2),
        ("f(lambda: 1)", "lambda", 2),
        ("f(*(1, 2))", "* cannot be used", 2),
        ("f(**{})", "cannot be used", None),
        ("f(x := 3)", "cannot be used", 2),
        ("f(f'{1}')", "f-string", 2),
        ("f(b'a')", "cannot be used", 2),
        ("f(1j)", "cannot be used", 2),
        ("f(ä, 1)", "ä is not defined", 2),
        ("f('ä', b)", "b is not defined", 7),
        ("f(" + "(" * 300 + ")" * 300 + ")", "does not read as a call", None),
        ("f(" + "-" * 2000 + "1)", "", None),
        ("f(" + "+".join("1" * 1000) + ")", "nested too deeply", None),
        ("f(" + "1" * 5000 + ")", "4096 characters", 0),
        ("randn(8)", "makes an argument", 0),
        ("f(0)(1)(2)", "a function, or a module", 0),
    ],
)
def test_what_is_refused(text: str, words: str, column: int | None) -> None:
    refused(text, words, column)


def _leaves(value: object) -> list[object]:
    if isinstance(value, tuple | list):
        return [leaf for item in value for leaf in _leaves(item)]
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _leaves(item)]
    return [value]


_ATOMS = (
    "f x 1 2.5 -1 ** << // % ( ) [ ] { } , = . : randn( rand( out( inout( arange( full( dtype= size= layout= float16 torch. "
    "__class__ __import__ __builtins__ eval( exec( open( getattr( lambda globals() import os 'a' \"b\" f'{x}' * ** @ "
    ":= if else for in None True inf nan 10**10 999999999999 _ not and ~ ... await yield \\ # \u00e4 \x00 \n"
)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(_ATOMS.split(" ")), max_size=14).map("".join))
def test_nothing_escapes(inside: str) -> None:
    """Whatever is written: a bounded value of harmless leaves, or a WorkloadError at a column of the text."""
    text = f"f({inside})"
    call = outcome(text)
    if isinstance(call, WorkloadError):
        assert 0 <= call.column <= len(text)
        assert call.end_column > call.column
        return
    for leaf in _leaves((call.args, call.kwargs, call.init_args or (), call.init_kwargs or {})):
        assert leaf is None or type(leaf) in (bool, int, float, str, DType, TensorSpec)
        if isinstance(leaf, int):
            assert abs(leaf) < 2**64


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=40))
def test_any_text_gives_a_call_or_an_error(text: str) -> None:
    assert outcome(text) is not None


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 99), st.integers(1, 99), st.sampled_from(["+", "-", "*", "//", "%", "/"]))
def test_arithmetic_is_pythons(left: int, right: int, op: str) -> None:
    expected = ast.literal_eval(str({"+": left + right, "-": left - right, "*": left * right}.get(op, 0)))
    expected = {"//": left // right, "%": left % right, "/": left / right}.get(op, expected)
    check(f"f({left} {op} {right})", Call("f", (expected,), {}))


KERNELBENCH = """\
import torch
class Block(torch.nn.Module):
    def forward(self, x): return x.relu()
class Model(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.block = Block()
    def forward(self, x): return self.block(x)
def other(x): return x
def get_inputs(): return [torch.randn(8)]
def get_init_inputs(): return [8]
"""

SOFTMAX = """\
# workload: softmax(randn(8192, 1024))
#workload: softmax(randn(127, 781, dtype=float16))  # an odd size
def softmax(x):
    return launch(x)
def launch(x):
    return kernel[(1,)](x)
"""


def found(text: str, entry: str | None, source: WorkloadSource, calls: str, cases: int) -> None:
    workload = find_workload(text, entry)
    assert isinstance(workload, Workload), workload
    assert (workload.source, workload.entry, len(workload.cases)) == (source, calls, cases)


def test_kernelbench() -> None:
    found(KERNELBENCH, "Model", WorkloadSource.KERNELBENCH, "Model", 0)


def test_kernelbench_exercises_what_model_uses() -> None:
    found(KERNELBENCH, "Block", WorkloadSource.KERNELBENCH, "Model", 0)


def test_kernelbench_comes_before_lines_of_the_same_kernel() -> None:
    found("# workload: Model(8)(randn(8))\n" + KERNELBENCH, "Model", WorkloadSource.KERNELBENCH, "Model", 0)


def test_lines_win_for_the_entry_they_name() -> None:
    found("# workload: other(randn(8))\n" + KERNELBENCH, "other", WorkloadSource.LINES, "other", 1)


def test_lines() -> None:
    found(SOFTMAX, "softmax", WorkloadSource.LINES, "softmax", 2)


def test_lines_of_the_function_that_calls_the_launcher() -> None:
    found(SOFTMAX, "launch", WorkloadSource.LINES, "softmax", 2)


def test_an_attribute_is_no_call_of_what_has_its_name() -> None:
    text = """\
# workload: sums(randn(8))
def sums(x):
    return tl.cumsum(x)
# workload: cumsum(randn(8, 8))
def cumsum(x):
    return launch(x)
def launch(x):
    return kernel[(1,)](x)
"""
    found(text, "launch", WorkloadSource.LINES, "cumsum", 1)


def test_lines_above_the_launcher_come_before_those_of_others_that_call_it() -> None:
    text = """\
# workload: one(randn(8))
def one(x):
    return launch(x) if len(x) > 99 else x
def other(x):
    return launch(x)
# workload: other(randn(8))
def launch(x):
    return kernel[(1,)](x)
"""
    found(text, "launch", WorkloadSource.LINES, "other", 1)


@pytest.mark.parametrize(
    ("text", "entry", "words"),
    [
        ("", "f", "No workload says how to call f"),
        ("def f(x): return x\n", None, "No function of this file launches"),
        (KERNELBENCH, "other", "No workload says how to call other"),
        (SOFTMAX + "def g(x): return x\n", "g", "No workload line calls g"),
        ("# workload: f(randn(n))\ndef f(x): return x\n", "f", "line 1 cannot be used: n is not defined"),
    ],
)
def test_refusals(text: str, entry: str | None, words: str) -> None:
    refusal = find_workload(text, entry)
    assert isinstance(refusal, Refusal)
    assert words in refusal.reason


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# workload: f(1)", [(0, 12, "f(1)")]),
        ("x = 1\n  #  workload : f(1)   \n", [(1, 16, "f(1)")]),
        ("// workload: f(1)", []),
        ("# workload: f(1)\r\n# workload: f('#')\r\n", [(0, 12, "f(1)"), (1, 12, "f('#')")]),
        ('"""\n# workload: f(1)\n"""\n# workload: f(2)', [(3, 12, "f(2)")]),
        ("x = 1  # workload: f(1)", []),
        ("s = '# workload: f(1)'", []),
        ("# it's\n# workload: f(1)", [(1, 12, "f(1)")]),
        ("x = 'half typed\n# workload: f(1)", [(1, 12, "f(1)")]),
    ],
)
def test_lines_of_a_text(text: str, expected: list[tuple[int, int, str]]) -> None:
    assert [(case.line, case.column, case.text) for case in workload_lines(text)] == expected


@pytest.mark.parametrize(
    ("line", "entry"),
    [
        ("f(1)", "f"),
        ("F.apply(1)", "F"),
        ("k[(8,)](1)", "k"),
        ("k<<<8, 256>>>(1)", "k"),
        ("k<float, 4> <<<8, 256>>>(1)", "k"),
        ("k<f(4)><<<8, 256>>>(1)", None),
        ("k <<<dim3(2, 2), dim3(16, 16)>>> (1)", "k"),
        ("k < 1", None),
        ("1 + 1", None),
    ],
)
def test_the_name_that_a_line_calls(line: str, entry: str | None) -> None:
    assert [*by_entry(workload_lines(f"# workload: {line}"))] == ([] if entry is None else [entry])


FUNCTIONS = """\
import torch, triton
from elsewhere import imported
@triton.jit
def kernel(x): pass
def f(x, y, *, eps=1e-6): return x
def varied(*args, **kwargs): return args
class Norm(torch.nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
    def forward(self, x, residual=None): return x
alias = Function.apply
"""
APPLIED = """\
class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor=2): return x * factor
"""


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("f(randn(8), 2)", None),
        ("f(randn(8), y=2, eps=0.1)", None),
        ("varied(1, 2, z=3)", None),
        ("imported(1)", None),
        ("alias(1)", None),
        ("Norm(8)(randn(8))", None),
        ("f(randn(8))", (12, 13, "f also needs y.")),
        ("f(1, 2, 3)", (12, 13, "f takes 2 positional arguments, this line gives 3.")),
        ("f(1, 2, z=3)", (12, 13, "f has no parameter z.")),
        ("f(1, 2, x=3)", (12, 13, "f is given x twice.")),
        ("missing(1)", (12, 19, "The file has no function or class named missing.")),
        ("Norm(Norm(8), eps=Missing())(randn(8))", (30, 37, "The file has no class named Missing.")),
        (
            "Norm([Missing(imported)])(randn(8))",
            (26, 34, "imported is not defined: use a number, or give imported=… as an argument."),
        ),
        (
            "kernel(1)",
            (
                12,
                18,
                "kernel is a Triton kernel: name the function that launches it, or write its grid, kernel[(128,)](…).",
            ),
        ),
        ("f[(8,)](1)", (12, 13, "f is no Triton kernel, so it has no grid: write f(…).")),
        ("f.apply(1)", (12, 13, "f is no autograd.Function: write f(…).")),
        ("f(1)(2)", (12, 13, "f is a function: it is called once, f(…).")),
        ("Norm(randn(8))", (12, 16, "Norm is constructed with dim: write Norm(…)(…).")),
        ("Norm(8)(1, 2, 3)", (12, 16, "Norm.forward takes 2 positional arguments, this line gives 3.")),
        ("Norm()(1)", (12, 16, "Norm also needs dim.")),
        ("f(normal(8), 1)", (14, 20, "There is no generator normal; there are")),
        ("f(randn(8), y=q)", (26, 27, "q is not defined")),
    ],
)
def test_problems(line: str, expected: tuple[int, int, str] | None) -> None:
    got = problems(FUNCTIONS + "# workload: " + line)
    if expected is None:
        assert got == ()
        return
    (problem,) = got
    assert (problem.line, problem.column, problem.end_column) == (11, *expected[:2])
    assert problem.message.startswith(expected[2])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("kernel[(8,)](randn(8), num_warps=4)", None),
        ("Doubled.apply(randn(8))", None),
        ("Doubled(randn(8))", "Doubled is an autograd.Function: write Doubled.apply(…)."),
        ("Doubled.apply(1, 2, 3)", "Doubled.forward takes 2 positional arguments, this line gives 3."),
    ],
)
def test_problems_of_other_entries(line: str, message: str | None) -> None:
    assert [p.message for p in problems(f"{FUNCTIONS}{APPLIED}# workload: {line}")] == (
        [] if message is None else [message]
    )


def test_a_line_does_not_call_get_init_inputs() -> None:
    made = "def get_init_inputs(): return [8]\n# workload: "
    (problem,) = problems(FUNCTIONS + made + "Norm(randn(8))")
    assert problem.message == (
        "Norm is constructed with dim: write Norm(…)(…), since a line does not call get_init_inputs()."
    )
    assert problems(FUNCTIONS + made + "Norm(8)(randn(8))") == ()


def test_a_line_in_a_file_that_defines_nothing() -> None:
    (problem,) = problems("import torch\n# workload: f(1)\n")
    assert problem.message == "The file has no function or class named f."


@pytest.mark.parametrize("name", ["in", "lambda", "is", "from"])
def test_a_parameter_may_be_called_what_python_keeps_for_itself(name: str) -> None:
    call = evaluate(f"f({name}=randn(8), n=8)")
    assert list(call.kwargs) == [name, "n"]
    with pytest.raises(WorkloadError) as wrong:
        evaluate(f"f({name}=randn(8), n=m)")
    assert wrong.value.column == len(f"f({name}=randn(8), n=")


def test_fields_of_structures_are_names_where_one_has_them() -> None:
    call = evaluate("f<<<n / 4, m>>>(p=struct(n=64, x=randn(n, m), q=struct(k=n - 1)), m=8, y=out(k))")
    assert (call.grid, call.block) == ((16,), (8,))
    assert isinstance(call.kwargs["p"], dict)
    assert call.named["x"].shape == (64, 8)
    assert call.named["y"].shape == (63,)
    both = evaluate("f(a=struct(n=2, x=randn(n)), b=struct(n=3, x=randn(n)))")
    assert [one["x"].shape for one in both.kwargs.values()] == [(2,), (3,)]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("f(a=struct(n=2), b=struct(n=3), x=randn(n))", "n is not defined"),
        ("f(struct(2))", "A structure gives its fields by their names"),
        ("f(struct())", "A structure gives its fields by their names"),
        ("f(a=struct(n=m, m=n))", "is defined by itself"),
        ("f(a=struct(n=2), x=randn(a))", "a is not a number"),
        ("struct(n=2)", "name the function to call around it"),
    ],
)
def test_what_is_wrong_with_a_structure_is_said(line: str, words: str) -> None:
    with pytest.raises(WorkloadError, match=words):
        evaluate(line)
