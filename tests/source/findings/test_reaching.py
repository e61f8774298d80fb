import ast

import pytest

from kernelwright.source.bindings import Loop
from kernelwright.source.findings.reaching import PASSED, Reaching


@pytest.mark.parametrize(
    ("body", "values"),
    [
        ("p = 1\nuse(p)", ["1"]),
        ("p = 1\np = 2\nuse(p)", ["2"]),
        ("use(p)\np = 1", []),
        ("if c:\n    p = 1\nuse(p)", ["passed", "1"]),
        ("p = 1\nif c:\n    p = 2\nelse:\n    use(p)", ["1"]),
        ("p = 1\nfor i in r:\n    use(p)\n    p = 2", ["1", "2"]),
        ("for i in r:\n    if c:\n        p = 2\n    else:\n        use(p)", ["passed", "2"]),
        ("for i in r:\n    use(p)\n    p += 2", ["passed", "p + 2"]),
        ("for i in r:\n    p = 1\n    use(p)\n    p = 2", ["1"]),
        ("p = 1\nwhile use(p):\n    p = 2", ["1", "2"]),
        ("for p in r:\n    use(p)", ["loop"]),
        ("with c:\n    p = 1\nuse(p)", ["1"]),
        ("try:\n    p = 1\nexcept E:\n    p = 2\nuse(p)", ["1", "2"]),
        ("def p():\n    return 3\nuse(p)", ["lambda: 3"]),
    ],
)
def test_the_values_that_reach_a_use(body: str, values: list[str]) -> None:
    tree = ast.parse(body)
    (use,) = (n.args[0] for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == "use")
    assert isinstance(use, ast.Name)
    found = Reaching(tree.body, ("p",)).at(use)
    assert found is not None
    assert [
        "passed" if one is PASSED else "loop" if isinstance(one, Loop) else ast.unparse(one) for one in found
    ] == values
