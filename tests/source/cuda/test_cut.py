"""What the top level of a CUDA text is cut into, and that a text read piece by piece is read as one never seen."""

from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from kernelwright.languages import of_file
from kernelwright.languages.cuda import workloads
from kernelwright.source.cuda import cut as module
from kernelwright.source.cuda import kernels, outline
from kernelwright.source.cuda.cut import cut
from kernelwright.source.findings import find_cuda
from kernelwright.source.memory import PerPiece
from kernelwright.source.pieces import EMPTY, Cuts, unchanged
from kernelwright.source.workload.lines import lines_of

EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "cuda").glob("*.cu"))


def firsts(text: str) -> list[str]:
    """The first line of the code of every piece."""
    found = (part.source[module.first_code(part.source, 0) :] for part in cut(text.encode()))
    return [code.decode().partition("\n")[0].strip() for code in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        ("// only words\n", [""]),
        ("#define A(x) \\\n  (x)\n#include <b>\n\nint c;\n", ["#define A(x) \\", "#include <b>", "int c;"]),
        ("int a; int b = 1; // word\nint c;", ["int a;", "int b = 1; // word", "int c;"]),
        ("namespace a::b {\nvoid f() {}\n}\nint c;\n", ["namespace a::b {", "void f() {}", "}", "int c;"]),
        ('extern "C" {\nvoid f() {}\n}\n', ['extern "C" {', "void f() {}", "}"]),
        ('extern "C" void f() {\n}\nint b;\n', ['extern "C" void f() {', "int b;"]),
        ("struct S {\n  int a;\n};\nint b;\n", ["struct S {", "int b;"]),
        ("struct S {\n  int a;\n} s, *t;\nint b;\n", ["struct S {", "int b;"]),
        ("typedef struct {\n  int a;\n} S;\nint b;\n", ["typedef struct {", "int b;"]),
        ("int a[] = {1, 2}, b[] = {3};\nint c;\n", ["int a[] = {1, 2}, b[] = {3};", "int c;"]),
        ("auto f = [](int a) { return g({a}); };\nint c;\n", ["auto f = [](int a) { return g({a}); };", "int c;"]),
        ("S::S() : a{1}, b{2} {\n}\nint c;\n", ["S::S() : a{1}, b{2} {", "int c;"]),
        ("int f(int a = g(';', \"}\", '{')) {\n}\nint b;\n", ["int f(int a = g(';', \"}\", '{')) {", "int b;"]),
        ('const char* s = R"x({ )" }\n)x";\nint b;\n', ['const char* s = R"x({ )" }', "int b;"]),
        ("long a = 1'000;\nint b;\n", ["long a = 1'000;", "int b;"]),
        ("#if A\nvoid f() {\n#else\nvoid f(int a) {\n#endif\n}\nint b;\n", ["#if A", "void f() {", "int b;"]),
        ("void f() {\n#if A\n  if (a) {\n#else\n  {\n#endif\n  }\n}\nint b;\n", ["void f() {", "int b;"]),
        ("void f() {\n  if (a) {\n}\n\n__global__ void k() {\n}\n", ["void f() {", "__global__ void k() {"]),
        ("void f(int a {\n}\n\nvoid g(int b) {\n}\n", ["void f(int a {", "void g(int b) {"]),
        ("void f() {\nif (a) {\ng(a);\n}\nelse if (b) {\n}\n}\nint b;\n", ["void f() {", "int b;"]),
        ("struct S {\nstatic int f(int a) {\n}\n};\nint b;\n", ["struct S {", "int b;"]),
        ("void f() {\n}\n}\nvoid g() {\n}\n", ["void f() {", "}", "void g() {"]),
        ("/* open\nint a;\n", ["/* open"]),
    ],
)
def test_pieces(text: str, expected: list[str]) -> None:
    assert firsts(text) == expected


LINES = (
    "int a;\n",
    "__global__ void k(int* x) {\n",
    "void f(int a) {\n",
    "  x[0] = 1;\n",
    "}\n",
    "#if A\n",
    "#else\n",
    "#endif\n",
    "#define A \\\n",
    "namespace n {\n",
    "struct S {\n",
    "// workload: k<<<1, 1>>>(x=out(4))\n",
    "é\n",
)
PARTS = (*"(){}[];,=#\\\"'\n x", "/*", "*/", "//", "\r\n", 'R"(', ')"', "template <class T>\n", 'extern "C" ')
TOKENS = st.sampled_from((*LINES, *PARTS))


def again(source: bytes, before):
    return module.again(source, before, unchanged(before.source, source))


@settings(deadline=None)
@given(st.lists(TOKENS, max_size=60), st.lists(st.tuples(st.integers(0), st.integers(0, 12), TOKENS), max_size=8))
@example(["int a = 1", "/*"], [(0, 0, " "), (9, 0, "\n"), (11, 0, "*/;")])
def test_after_a_change_the_pieces_are_those_of_a_text_never_seen(
    tokens: list[str], changes: list[tuple[int, int, str]]
) -> None:
    source = "".join(tokens).encode()
    before = EMPTY
    for at, removed, token in changes:
        before = again(source, before)
        assert before == again(source, EMPTY)
        assert b"".join(piece.source for piece in before.pieces) == source
        assert [piece.line for piece in before.pieces] == [
            source.count(b"\n", 0, piece.start) for piece in before.pieces
        ]
        at %= len(source) + 1
        source = source[:at] + token.encode() + source[at + removed :]
    assert again(source, before) == again(source, EMPTY)


def test_between_two_changes_nothing_is_cut_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key is taken back and the next one falls elsewhere."""
    text = "".join(f"void f{i}(int* x) {{\n  x[0] = {i};\n}}\n" for i in range(200))
    cut(text.replace("x[0] = 3;", "x[0] = 33;").encode())
    read = []
    piece = module._piece
    monkeypatch.setattr(module, "_piece", lambda source, start: read.append(start) or piece(source, start))
    assert len(cut(text.replace("x[0] = 190;", "x[0] = 1900;").encode())) == 200
    assert len(read) <= 12


@settings(deadline=None)
@given(st.lists(TOKENS, max_size=60))
def test_workload_lines_of_pieces_are_those_of_the_text(tokens: list[str]) -> None:
    text = "".join(tokens)
    assert workloads.lines_in(text) == lines_of(text, workloads._TOKENS, "//")


CACHES = (
    outline._outline,
    kernels._made,
    kernels._facts_of,
    find_cuda._checked,
    workloads._lines_in,
)
PER_PIECE = (outline._read, find_cuda._signs, workloads._cases)


def forget() -> None:
    """Forget all texts that were read."""
    for one in CACHES:
        getattr(one, "cache_clear", lambda: None)()
    for one in PER_PIECE:
        assert isinstance(one, PerPiece)
        one._known.clear()
    outline._known_pieces.clear()
    module._cut = Cuts(module.again)


def everything(text: str) -> tuple[object, ...]:
    support = of_file(Path("kernel.cu"))
    found = support.kernels(text)
    return found, support.findings(text, found), support.workload_problems(text)


KEYS = (*"abx_01 .,()[]=+*:\"';{}<&\n/#", "", "/*", "}\n", "#if 0\n", "__global__ void q(float* x, int n) {\n")
TEXT = "\n".join(path.read_text(encoding="utf-8") for path in EXAMPLES[:6])


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, len(TEXT)), st.integers(0, 30), st.sampled_from(KEYS)), min_size=1, max_size=4)
)
def test_after_keys_all_that_is_found_is_that_of_a_text_never_seen(changes: list[tuple[int, int, str]]) -> None:
    text = TEXT
    everything(text)
    for at, removed, key in changes:
        text = text[:at] + key + text[at + removed :]
        found = everything(text)
        forget()
        assert found == everything(text)


def test_what_is_typed_in_a_function_gives_no_names_to_others() -> None:
    """A broken function may read as declarations, and the names of its locals stand in every other one."""
    typed = TEXT.replace("__global__ void", "_*_global__ void", 1)
    given = [{name for one in outline.outline(text).placed for name in one.piece.names} for text in (TEXT, typed)]
    assert given[1] <= given[0]
    assert not given[0] & {"i", "row", "x", "sum"}
