"""The fields of structures, read by tokens."""

import pytest

from kernelwright.source.cpp import structures_of
from kernelwright.source.cpp.structures import paths


def told(text: str) -> dict[str, list[str]]:
    return {
        name: [f"{one.type} {one.name}{'=' * one.has_default}" for one in f] for name, f in structures_of(text).items()
    }


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("struct P { int n; const float* __restrict__ x; };", {"P": ["int n", "const float * x"]}),
        ("struct P { float a = 1, *b, c[3]; long long d{4}; };", {"P": ["float a=", "float * b", "float c", "long long d="]}),
        ("typedef struct { int n; } P;", {"P": ["int n"]}),
        ("struct __align__(16) P { int n; };", {"P": ["int n"]}),
        ("struct P { int n; int twice() const { return 2 * n; } static int count; P() = default; };", {"P": ["int n"]}),
        ("namespace a { struct P { ns::Kind<int, 4> k; }; }", {"P": ["ns :: Kind < int , 4 > k"]}),
        ("struct P { public: int n; };", {"P": ["int n"]}),
        ("struct P { private: int n; };", {}),
        ("struct P { const int& n; };", {}),
        ("struct P { float (*f)(float); int n; };", {}),
        ("struct P { int n; float at(const P& p, int i) const; };", {"P": ["int n"]}),
        ("struct P { alignas(16) float a[4]; };", {"P": ["alignas ( 16 ) float a"]}),
        ("struct P : Q { int n; };", {}),
        ("struct P { int a : 3; };", {}),
        ("struct P { union { int a; float b; }; };", {}),
        ("template <typename T> struct P { T n; };", {}),
        ("struct P; struct P* f(struct P p);", {}),
        ("struct P { int n; }; namespace b { struct P { int m; }; }", {}),
        ("struct P { int n", {}),
    ],
)  # fmt: skip
def test_fields(text: str, fields: dict[str, list[str]]) -> None:
    assert told(text) == fields


def test_paths_lead_into_structures() -> None:
    text = "struct A { int n, m; }; struct B { A a; float* x; A* other; };"
    found = [path for path, _ in paths(structures_of(text), "const B &")]
    assert found == ["a.n", "a.m", "x", "other"]
    assert list(paths(structures_of(text), "B *")) == []
