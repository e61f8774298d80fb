import ast
import re
from pathlib import Path

import pytest

from kernelwright.source.cuda import read
from kernelwright.source.cuda.kernels import find_kernels as find_cuda_kernels
from kernelwright.source.document import parse
from kernelwright.source.findings import Finding, find_findings, rules
from kernelwright.source.findings.docs import page
from kernelwright.source.findings.find_cuda import find_cuda_findings
from kernelwright.source.findings.rules import registry
from kernelwright.source.kernels import find_kernels
from kernelwright.source.workload import evaluate, find_workload
from kernelwright.values import Call, Language, Workload, apply
from source.findings import snippets_cuda, snippets_torch, snippets_triton, snippets_tuning

WRONG = {**snippets_triton.WRONG, **snippets_tuning.WRONG, **snippets_torch.WRONG, **snippets_cuda.WRONG}
RIGHT = {**snippets_triton.RIGHT, **snippets_tuning.RIGHT, **snippets_torch.RIGHT, **snippets_cuda.RIGHT}


def is_cuda(code: str) -> bool:
    return registry()[code].language is Language.CUDA


def findings(code: str, text: str) -> tuple[Finding, ...]:
    return cuda_findings(text) if is_cuda(code) else python_findings(text)


def cuda_findings(text: str) -> tuple[Finding, ...]:
    calls = [evaluate(line) for line in re.findall(r"^// workload: (.*)", text, re.M)]
    return find_cuda_findings(text, find_cuda_kernels(text), {call.entry: call for call in calls})


def python_findings(text: str) -> tuple[Finding, ...]:
    document = parse(text)
    kernels = find_kernels(document)
    workloads = [w for k in kernels if isinstance(w := find_workload(text, k.entry), Workload)]
    calls = {w.entry: call for w in workloads if isinstance(call := evaluate(w.cases[0].text), Call)}
    return find_findings(document, kernels, calls)


def cases(table: dict[str, list[str]]) -> list:
    return [pytest.param(code, text, id=f"{code}-{i}") for code, texts in table.items() for i, text in enumerate(texts)]


@pytest.mark.parametrize(("code", "text"), cases(WRONG))
def test_wrong_code_is_said(code: str, text: str):
    found = findings(code, text)
    assert {f.code for f in found} == {code}
    for finding in found:
        assert finding.message.endswith(".")
        assert finding.severity == registry()[code].severity
        check_place(text, finding)
        check_fix(text, finding)


def check_place(text: str, finding: Finding) -> None:
    lines = text.splitlines(keepends=True)
    assert 0 <= finding.start < finding.end <= len(text)
    assert sum(map(len, lines[: finding.start_line])) + finding.start_column == finding.start
    assert sum(map(len, lines[: finding.end_line])) + finding.end_column == finding.end


def check_fix(text: str, finding: Finding) -> None:
    """A fix gives code that parses, without this finding."""
    if finding.fix is None:
        return
    fixed = apply(finding.fix.edits, text)
    check_parses(finding.code, fixed)
    count = len([f for f in findings(finding.code, text) if f.code == finding.code])
    assert len([f for f in findings(finding.code, fixed) if f.code == finding.code]) < count


def check_parses(code: str, text: str) -> None:
    if is_cuda(code):
        assert not read(text).source.tree.root_node.has_error
    else:
        ast.parse(text)


@pytest.mark.parametrize(("code", "text"), cases(RIGHT))
def test_right_code_is_left_alone(code: str, text: str):
    check_parses(code, text)
    assert findings(code, text) == ()


def test_each_file_is_named_after_the_language_of_its_rule() -> None:
    """What loads the rules of one language goes by that."""
    files = [file for file in Path(rules.__file__).parent.glob("*.py") if not file.name.startswith("_")]
    assert len(registry()) == len(files)
    for code, rule in registry().items():
        assert code.startswith(f"{rule.language.value}.")
        assert rules.by_code(code) is rule
    assert rules.by_code("torch.no-such-rule") is rules.by_code("values") is None


@pytest.mark.parametrize("code", registry())
def test_every_rule_has_its_table(code: str):
    assert len(WRONG[code]) >= 4
    assert len(RIGHT[code]) >= 4


@pytest.mark.parametrize("code", registry())
def test_the_examples_of_the_docs_hold(code: str):
    rule = registry()[code]
    assert {f.code for f in findings(code, rule.example_wrong)} == {code}
    assert findings(code, rule.example_right) == ()


def test_the_page_names_every_rule():
    text = page()
    assert text == page()
    for rule in registry().values():
        assert f"### {rule.code}\n\n**{rule.title}** ({rule.severity.value})" in text
        assert rule.example_wrong.strip() in text
