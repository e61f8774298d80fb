"""CUDA C++ by tokens: functions, their parameters, and the statements of their bodies."""

import time

import pytest

from kernelwright.source.cpp import Kind, functions_of, tokens_of
from kernelwright.source.cpp.statements import statements_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a<<<1, 2>>>(b);", ["a", "<<<", "1", ",", "2", ">", ">", ">", "(", "b", ")", ";"]),
        ("x /* y */ z // w\nq", ["x", "z", "q"]),
        ("// one \\\n two\nthree", ["three"]),
        ('"a\\"b" \'c\' u8"d"', ['"a\\"b"', "'c'", 'u8"d"']),
        ('R"x(a " )y)x" b', ['R"x(a " )y)x"', "b"]),
        ("#define A \\\n  b\nc", ["#define A \\\n  b", "c"]),
        ("1.0f .5e-3 0x1p-4 1'000u a->b c::d", ["1.0f", ".5e-3", "0x1p-4", "1'000u", "a", "->", "b", "c", "::", "d"]),
        ("/* open", []),
        ('"open', ['"open']),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    tokens = tokens_of(text)
    assert [token.text for token in tokens] == expected
    assert all(text[token.start : token.end] == token.text for token in tokens)
    assert all(text.count("\n", 0, token.start) == token.line for token in tokens)


@pytest.mark.parametrize(
    "part", ["/*", "(", "<", "{", '"', "#if 0\n", "template <", "a<<<", 'R"(', "__shared__ float a["]
)
def test_time_is_linear(part: str) -> None:
    begun = time.process_time()
    functions_of(part * 20_000)
    assert time.process_time() - begun < 5


def described(text: str) -> list[str]:
    return [
        f"{'::'.join((*one.scope, one.name))}({', '.join(f'{p.type} {p.name}' for p in one.parameters)})"
        f"{' kernel' if one.is_kernel else ''}{' entry' if one.can_be_entry else ''}"
        for one in functions_of(text)
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("void f(const float* x, unsigned n = 4u) {}", ["f(const float * x, unsigned n) entry"]),
        (
            "__global__ void __launch_bounds__(256, 2) k(float a[], long long n) {}",
            ["k(float * a, long long n) kernel entry"],
        ),
        ("template <typename T, int N = (3 > 2)> __global__ void k(T* x) {}", ["k(T * x) kernel"]),
        ('extern "C" void f(void) {}', ["f() entry"]),
        ('extern "C" { static int f(int) { return 1; } }', ["f(int argument 0) entry"]),
        ("namespace a { namespace { void f() {} } void g() {} }", ["a::::f() entry", "a::g() entry"]),
        ("namespace a::b { void f() {} }", ["a::b::f() entry"]),
        ("__device__ float d(float x) { return x; }", ["d(float x)"]),
        ("void f(int a) {} void f(float a) {}", ["f(int a)", "f(float a)"]),
        ("struct S { void f() {} }; int x = 1; int y[] = {1, 2}; void g();", []),
        ("#if 0\nvoid f() {}\n#else\nvoid g() {}\n#endif\n", ["g() entry"]),
        (
            "std::vector<float> f(std::vector<int> v, dim3 d = dim3(1, 2)) { return {}; }",
            ["f(std :: vector < int > v, dim3 d) entry"],
        ),
        ("int main() {} void S::f() {}", ["main()", "f()"]),
        ("void f(", []),
    ],
)
def test_functions(text: str, expected: list[str]) -> None:
    assert described(text) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a = 1; b();", ["a = 1;", "b();"]),
        ("if (a) b(); else c();", ["if (a)", " b();", " c();"]),
        ("if (a) { b(); } else if (c) d();", ["if (a)", " b();", " if (c)", "  d();"]),
        (
            "for (int i = 0; i < n; ++i) x[i] = f([&] { g(); });",
            ["for (int i = 0; i < n; ++i)", " x[i] = f([&] { g(); });"],
        ),
        ("\n#pragma unroll\nfor (;;) { if (a) break; }", ["for (;;)", " if (a)", "  break;"]),
        ("do { a(); } while (b); c();", ["do", " a();", "c();"]),
        ("switch (a) { case 1: b(); break; default: c(); }", ["switch (a)", " b();", " break;", " c();"]),
        ("{ a(); { b(); } } int x[2] = {1, 2}; again: c();", ["a();", "b();", "int x[2] = {1, 2};", "c();"]),
        ("if constexpr (a) return; while (a);", ["if constexpr (a)", " return;", "while (a)"]),
    ],
)
def test_statements(body: str, expected: list[str]) -> None:
    text = f"void f() {{ {body} }}"
    (function,) = functions_of(text)

    def shown(statements, depth: int = 0) -> list[str]:
        return [
            line
            for one in statements
            for line in (
                " " * depth + _head(text, one),
                *(inner for block in one.blocks for inner in shown(block, depth + 1)),
            )
        ]

    assert shown(statements_of(tokens_of(text), function.tokens)) == expected


def _head(text: str, one) -> str:
    """The statement as written, of one with blocks what stands before them."""
    tokens = [token for token in tokens_of(text) if token.start >= one.start and token.kind is not Kind.DIRECTIVE]
    return text[one.start : tokens[len(one.words) - 1].end]
