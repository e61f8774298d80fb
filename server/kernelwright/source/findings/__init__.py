"""Live findings: what can be said against a kernel while it is typed, with a quick fix where that is mechanical."""

from kernelwright.source.findings.find import Sizes, find_findings
from kernelwright.source.findings.rule import Finding, Fix, Rule, Severity

find = find_findings

__all__ = ["Finding", "Fix", "Rule", "Severity", "Sizes", "find", "find_findings"]
