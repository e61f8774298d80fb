"""The page about findings, generated from the rules."""

from kernelwright.source.findings.rule import Rule, Severity
from kernelwright.source.findings.rules import for_language
from kernelwright.source.findings.spilling import CODE, DOC, TITLE
from kernelwright.values import Language

_TITLES = {Language.TRITON: "Triton", Language.TORCH: "PyTorch", Language.CUDA: "CUDA C++"}


def page() -> str:
    """`docs/findings.md` as text."""
    parts = [
        "# Findings",
        "What Kernelwright says while you type, before anything runs. Each finding has a code, a reason and, where the "
        "remedy is mechanical, a quick fix. Findings are made from the text alone; only `triton.int32-offset` and "
        "`triton.wide-offset` also look at the sizes of the workload, and `triton.spills` at what the compiler says. Those of "
        "CUDA C++ put the sizes of the workload in where there are any.",
    ]
    for language, title in _TITLES.items():
        parts += [f"## {title}", *(_section(rule) for rule in for_language(language))]
        if language is Language.TRITON:
            parts += [f"### {CODE}", f"**{TITLE}** ({Severity.WARNING.value})", " ".join(DOC.split())]
    return "\n\n".join(parts) + "\n"


def _section(rule: Rule) -> str:
    fence = "```cpp" if rule.language is Language.CUDA else "```python"
    return "\n\n".join(
        (
            f"### {rule.code}",
            f"**{rule.title}** ({rule.severity.value})",
            " ".join(rule.doc.split()),
            f"Said of:\n\n{fence}\n{rule.example_wrong.strip()}\n```",
            f"Not said of:\n\n{fence}\n{rule.example_right.strip()}\n```",
        )
    )
