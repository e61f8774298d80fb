"""Reads the results of `kernelwright bench kernelbench` and says, level by level, what was gained and where it was not.

`python benchmarks/kernelbench_report.py RESULTS.jsonl … [--merge OUT.jsonl]` prints Markdown; with --merge the lines of
all files are written to one, ordered by level and task.
"""

import argparse
import json
import math
from pathlib import Path

from kernelwright.cli.kernelbench import read_results
from kernelwright.cli.kernelbench_table import BASELINES, compile_over_eager, fast, geomean, kept, speedups


def summary(results: list[dict]) -> list[str]:
    applicable = [r for r in results if r["applicable"]]
    lines = [
        "| against | tasks | fast_1 | fast_1.05 | fast_2 | geomean |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for baseline in BASELINES:
        ratios = speedups(applicable, baseline)
        shares = " | ".join(f"{fast(ratios, p):.0%}" for p in (1.0, 1.05, 2.0)) if ratios else "- | - | -"
        lines.append(f"| {baseline} | {len(ratios)} | {shares} | {geomean(ratios):.3f} |")
    compiled = compile_over_eager(applicable)
    degenerate = sum(bool(r.get("degenerate")) for r in applicable)
    verified = [r for r in applicable if kept(r)]
    again = sum(bool((r.get("verified_again") or {}).get("passed")) for r in verified)
    lines += [
        "",
        f"{len(results)} tasks, strategies apply to {len(applicable)} ({degenerate} degenerate, left out of the table); "
        f"a verified step was kept on {len(verified)}, and {again} of these passed again on fresh seeds. "
        f"torch.compile over eager on the same tasks: geomean {geomean(compiled):.3f}.",
    ]
    return lines


def behind_compile(results: list[dict]) -> list[str]:
    """The applicable tasks on which torch.compile is more than 5 % faster than what Kernelwright left, worst first."""
    rows = []
    for r in results:
        t = r.get("timings") or {}
        if not r["applicable"] or r.get("degenerate") or "median_ms" not in t.get("torch.compile", {}):
            continue
        mine = t["candidate" if kept(r) else "eager"].get("median_ms", math.nan)
        ratio = mine / t["torch.compile"]["median_ms"]
        if ratio > 1.05:
            rows.append((ratio, f"| {r['level']}-{r['task']} | {r['name'].split('_', 1)[1]} | {ratio:.2f} |"))
    header = ["| task | name | torch.compile is faster by |", "|---|---|---:|"]
    return header + [row for _, row in sorted(rows, reverse=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--merge", type=Path)
    arguments = parser.parse_args()
    unique = {(r["level"], r["task"]): r for file in arguments.files for r in read_results(file)}
    results = [unique[key] for key in sorted(unique)]
    if arguments.merge:
        arguments.merge.write_text("".join(json.dumps(r) + "\n" for r in results), encoding="utf-8")
    for level in sorted({r["level"] for r in results}):
        print(f"\n### Level {level}\n", *summary([r for r in results if r["level"] == level]), sep="\n")
    print("\n### All\n", *summary(results), "", *behind_compile(results), sep="\n")


if __name__ == "__main__":
    main()
