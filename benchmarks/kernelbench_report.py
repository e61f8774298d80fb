"""Says level by level what was gained on KernelBench and where it was not, from a summary or from raw runs.

`python -m benchmarks.kernelbench_report [SUMMARY.json | RESULTS.jsonl ... [--merge OUT.jsonl]]` prints Markdown: of the
committed summary by default, or of what `kernelwright bench kernelbench` has written. With --merge the lines of all files
are written to one, ordered by level and task; one in benchmarks/raw is summed up in benchmarks/results.
"""

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.summary import RESULTS, Unfit, keep, rows_of, summed

from kernelwright.cli.kernelbench import read_results

KEPT = RESULTS / "kernelbench-h200.json"


def report(summary: Mapping[str, Any]) -> str:
    """The tables of docs/results.md, as Markdown."""
    return "\n".join([*_levels(summary), "", *_behind(summary)])


def _levels(summary: Mapping[str, Any]) -> Iterator[str]:
    for name, counts in summary["figures"]["tasks"].items():
        yield from ("", f"## {name.capitalize()}", "")
        yield "| against | tasks | fast_1 | fast_1.05 | fast_2 | geomean |"
        yield "|---|---:|---:|---:|---:|---:|"
        for row in rows_of(summary, "speedups"):
            if row["of"] == name:
                yield f"| {row['against']} | {row['tasks']} | {_shares(row)} | {_figure(row['geomean'])} |"
        yield ""
        yield (
            f"{counts['tasks']} tasks, strategies apply to {counts['applicable']} ({counts['degenerate']} degenerate, left "
            f"out of the table); a verified step was kept on {counts['kept']}, and {counts['passed_again']} of these passed "
            "again on fresh seeds. torch.compile over eager on the same tasks: geomean "
            f"{_figure(counts['compile_over_eager']['geomean'])}."
        )


def _behind(summary: Mapping[str, Any]) -> Iterator[str]:
    """The tasks on which torch.compile is more than 5 % faster than what Kernelwright left, worst first."""
    yield from ("| task | name | torch.compile is faster by |", "|---|---|---:|")
    for row in rows_of(summary, "behind_compile"):
        yield f"| {row['task']} | {row['name']} | {row['compile_faster_by']:.2f} |"
    if left := summary["tables"]["behind_compile"]["left_out"]:
        yield f"| {left} more | | |"


def _shares(row: Mapping[str, Any]) -> str:
    return " | ".join("-" if row[p] is None else f"{row[p]:.0%}" for p in ("fast_1", "fast_1.05", "fast_2"))


def _figure(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.3f}"


def merged(files: list[Path], out: Path) -> None:
    """Write the last line of each task in all files to one, ordered by level and task."""
    unique = {(result["level"], result["task"]): result for file in files for result in read_results(file)}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("".join(json.dumps(unique[key]) + "\n" for key in sorted(unique)), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.kernelbench_report", description=__doc__)
    parser.add_argument("files", type=Path, nargs="*", default=[KEPT])
    parser.add_argument("--merge", type=Path)
    parser.add_argument("--date", default="", help="when the tasks were run, which their lines do not say")
    options = parser.parse_args()
    if options.files[0].suffix == ".json":
        print(report(json.loads(options.files[0].read_text(encoding="utf-8"))))
        return
    with TemporaryDirectory() as folder:
        out = options.merge or Path(folder) / "kernelbench.jsonl"
        merged(options.files, out)
        try:
            keep("kernelbench", out, date=options.date)
        except Unfit as reason:
            parser.error(f"{reason} Say it with --date.")
        print(report(summed("kernelbench", out, {}, options.date or "not recorded")))


if __name__ == "__main__":
    main()
