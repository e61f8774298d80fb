"""CUDA C++ in strings of Python: which strings are read, at which places, and what can be written back into them."""

import pytest

from kernelwright.micro.edits import difference
from kernelwright.source.cuda_units import cuda_units, unread_cuda
from kernelwright.values import Edits, Refusal, apply

BODY = "__global__ void k(float* x) {\n  x[0] = 1.0f;\n}\n"


def codes(text: str) -> list[str]:
    """The code of each unit without the blanks around it; it must stand on its lines and columns of the Python text."""
    for unit in cuda_units(text):
        for span in unit.spans:
            start, end = span.start - unit.shift, span.end - unit.shift
            assert unit.text[start:end] == text[span.start : span.end] or not span.raw
            assert unit.text.count("\n", 0, start) == text.count("\n", 0, span.start)
            assert unit.text.rfind("\n", 0, start) + unit.shift == text.rfind("\n", 0, span.start)
    return [" ".join(unit.text.split()) for unit in cuda_units(text)]


CODE = " ".join(BODY.split())
READ = [
    f'k = cp.RawKernel(r"""{BODY}""", "k")\n',
    f"k = cupy.RawKernel(code='''\n{BODY}''', name='k')\n",
    f'm = RawModule(code=R"""{BODY}""")\n',
    f'src = r"""{BODY}"""\nm = load_inline("m", "void f();", src)\n',
    f'src: str = r"""{BODY}"""\nm = load_inline(name="m", cpp_sources="void f();", cuda_sources=[src])\n',
    f'k = torch.cuda._compile_kernel(src, "k")\nsrc = (\n    r"""{BODY}"""\n)\n',
    f'def make():\n    src = r"""{BODY}"""\n    return RawKernel(src, "k")\n',
    f'class Made:\n    SRC = r"""{BODY}"""\n    kernel = RawKernel(SRC, "k")\n',
    f'é = "ü"; k = RawKernel(u"""{BODY}""", "k")  # 🙂\n',
    f'a, b = RawKernel(src, "k"), RawKernel(src, "k")\nsrc = """{BODY}"""\n',
    'k = RawKernel("__global__ void k(float* x) { x[0] = 1.0f; }", "k")\n',
]


@pytest.mark.parametrize("text", READ)
def test_what_is_read(text: str) -> None:
    assert codes(text) == [CODE]
    assert unread_cuda(text) == ()
    assert codes(text.replace("\n", "\r\n")) == [CODE]


@pytest.mark.parametrize(
    "text",
    [
        BODY,
        f'src = r"""{BODY}"""\n',
        f'"""{BODY}"""\n',
        f'# RawKernel(r"""{BODY}""", "k")\n',
        f'k = print(r"""{BODY}""")\n',
        f'load_inline("m", r"""{BODY}""")\n',
        'k = RawKernel("void f() {}", "k")  # no __global__\n',
        f'def make(src):\n    return RawKernel(src, "k")\nmake(r"""{BODY}""")\n',
        "RawKernel(**given)  # __global__\nload_inline()\n",
    ],
)
def test_what_is_left_alone(text: str) -> None:
    assert (codes(text), unread_cuda(text)) == ([], ())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (f'k = RawKernel("""{BODY}""".replace("1", N), "k")\n', "put together"),
        (f'k = RawKernel("#define N" + r"""{BODY}""", "k")\n', "put together"),
        ('k = RawKernel("__global__ void k()" "{}", "k")\n', "put together"),
        ('k = RawKernel(f"""__global__ void k() {{}}""", "k")\n', "put together"),
        ('k = RawKernel(b"""__global__ void k() {}""", "k")\n', "put together"),
        (f'src = "x"\nsrc += r"""{BODY}"""\nk = RawKernel(src, "k")\n', "more than once"),
        (f'src = r"""{BODY}"""\nsrc = r"""{BODY}"""\nk = RawKernel(src, "k")\n', "more than once"),
        ('k = RawKernel("__global__ void k() {}\\n", "k")\n', "has escapes"),
        (f'k = RawKernel("""{BODY}\\\n""", "k")\n', "has escapes"),
        (f'a = r"""{BODY}"""\nb = "int f();"\nm = load_inline("m", "", [b, a])\n', "another order"),
        (f'from parts import head\nm = load_inline("m", "", [head, r"""{BODY}"""])\n', "not written in this file"),
    ],
)
def test_what_is_not_read_has_a_reason(text: str, why: str) -> None:
    assert codes(text) == []
    (found,) = unread_cuda(text)
    assert why in found.reason
    assert found.line is not None
    assert "__global__" in "".join(text.split("\n")[found.line :])


def test_strings_that_are_compiled_together() -> None:
    text = f'head = "int f();"\nx = 1\nsrc = r"""{BODY}"""\nm = load_inline("m", "", [head, src])\n'
    assert codes(text) == [f"int f(); {CODE}"]


def test_a_macro_over_several_lines() -> None:
    text = 'k = RawKernel("""\\\n#define N \\\\\n  3\n__global__ void k() {}\n""", "k")\n'
    (unit,) = cuda_units(text)
    assert "#define N  \\\n  3\n" in unit.text
    assert "\\\n" not in unit.text.split("#define")[0]


@pytest.mark.parametrize(
    ("line", "comment"),
    [
        ("# workload: k<<<1, 8>>>(x=out(8))", "//workload: k<<<1, 8>>>(x=out(8))"),
        ("    #\tworkload : f(1)", "    //workload : f(1)"),
        ("#workload: f(1)", " " * 15),
        ("# workload: f(1) \\", " " * 18),
    ],
)
def test_workload_lines_are_comments_of_the_code(line: str, comment: str) -> None:
    (unit,) = cuda_units(f'{line}\nk = RawKernel(r"""{BODY}""", "k")\n')
    assert unit.text.split("\n")[0] == comment


def edited(text: str, *pairs: tuple[str, str]) -> str | Refusal:
    (unit,) = cuda_units(text)
    code = unit.text
    for old, new in pairs:
        assert old in code
        code = code.replace(old, new, 1)
    edits = unit.edits(difference(unit.text, code))
    return apply(edits, text) if isinstance(edits, Edits) else edits


@pytest.mark.parametrize("text", [READ[0], READ[3], READ[6], READ[8]])
def test_an_edit_lands_inside_of_the_string(text: str) -> None:
    for old, new in [
        ("1.0f", "2.0f"),
        ("__global__ void k(", "__device__ int f();\n__global__ void k("),
        ("  x[0] = 1.0f;\n", ""),
        ("}\n", "}\n__global__ void other() {}\n"),
    ]:
        assert edited(text, (old, new)) == text.replace(old, new, 1)
    assert edited(text, ("float* x", "float* y"), ("x[0]", "y[0]")) == text.replace("float* x", "float* y").replace(
        "x[0]", "y[0]"
    )


def test_a_backslash_is_written_twice_where_the_string_is_not_raw() -> None:
    text = f'k = RawKernel("""{BODY}""", "k")\n'
    new = "#define X \\\n  1.0f\n__global__"
    assert edited(text, ("__global__", new)) == text.replace("__global__", new.replace("\\", "\\\\"))
    assert edited(text.replace('"""_', 'r"""_'), ("__global__", new)) == text.replace('"""_', 'r"""_').replace(
        "__global__", new
    )


@pytest.mark.parametrize(
    ("text", "new"),
    [
        (READ[0], 'printf("""x""")'),  # ends the string
        (f'k = RawKernel("""{BODY}""", "k")\n', 'printf("\\n")'),  # has escapes then
        (READ[10], "1.0f;\n"),  # a line break in a string of one line
    ],
)
def test_an_edit_that_no_string_can_hold(text: str, new: str) -> None:
    found = edited(text, ("1.0f", new))
    assert isinstance(found, Refusal)
    assert "raw string" in found.reason


def test_half_typed_texts_are_answered() -> None:
    for text in READ:
        for end in range(len(text)):
            codes(text[:end])
            unread_cuda(text[:end])
