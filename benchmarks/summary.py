"""Sums up raw benchmark runs: `python -m benchmarks.summary benchmarks/raw/FILE ... [--date DATE]`.

A raw run is written to `benchmarks/raw`, which git ignores. Its summary, of the same name, goes to `benchmarks/results`:
under which conditions it ran, its headline figures, and of its rows as many as fit into LIMIT bytes. What is taken from the
runs of each benchmark is a row of `benchmarks.figures.BENCHMARKS`.
"""

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
RAW = ROOT / "benchmarks" / "raw"
RESULTS = ROOT / "benchmarks" / "results"
LIMIT = 5000  # bytes
CONDITIONS = ("device", "versions", "date", "settings")
KEPT = "one in benchmarks/raw is summed up in benchmarks/results"  # for the help of a program
_WIDTH = 120  # columns that a value may take and still be written on one line
_DIGITS = 8  # significant ones of a figure: more than any page shows, so that it rounds as the raw run would


class Unfit(Exception):
    """A run that cannot be summed up, with the reason in one sentence."""


@dataclass(frozen=True)
class Table:
    """Rows under named columns, the most telling first.

    `key`: the columns that name a row where runs add up. The rows of earlier summaries then stay, in front of the new ones,
    and where not all fit the first are left out.
    """

    columns: tuple[str, ...]
    rows: Sequence[Sequence[object]]
    key: tuple[str, ...] = ()


@dataclass(frozen=True)
class Sum:
    """What is taken from a raw run: CONDITIONS and others, figures by name, and tables of rows, the most telling first."""

    conditions: Mapping[str, object]
    figures: Mapping[str, object]
    tables: Mapping[str, Table] = field(default_factory=dict)


def write(name: str, whole: object, file: Path) -> None:
    """Write a raw run of the benchmark `name` as JSON, and keep its summary."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    keep(name, file)


def keep(name: str, file: Path, *, date: str = "", raw: Path = RAW, results: Path = RESULTS) -> Path | None:
    """Write the summary of a raw run; None where the run does not lie in `raw`, as one that is not to be kept."""
    if file.resolve().parent != raw.resolve():
        return None
    out = results / f"{file.stem}.json"
    earlier = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    results.mkdir(parents=True, exist_ok=True)
    out.write_text(fitted(summed(name, file, earlier, date)), encoding="utf-8")
    return out


def summed(name: str, file: Path, earlier: Mapping[str, Any], date: str = "") -> dict[str, Any]:
    """The summary of a raw run with all its rows. `date`: of its commit, for a run that does not say its own."""
    from benchmarks.figures import BENCHMARKS  # which imports this module

    content = file.read_bytes()
    found = BENCHMARKS[name](_loaded(file.suffix, content.decode()))
    dated = {"date": date, "date_of": "commit"} if date and not found.conditions.get("date") else {}
    conditions = {**found.conditions, **dated}
    if missing := [one for one in CONDITIONS if conditions.get(one) in (None, "")]:
        raise Unfit(f"{file} does not say its {' and '.join(missing)}.")
    tables = {title: _added(table, title, earlier) for title, table in found.tables.items()}
    whole = {
        "schema": 1,
        "benchmark": name,
        **{one: conditions[one] for one in CONDITIONS},
        **conditions,
        "raw": {"file": file.name, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()[:16]},
        "figures": found.figures,
        "tables": tables,
    }
    return _plain(whole)


def fitted(summary: Mapping[str, Any]) -> str:
    """The summary as JSON of at most LIMIT bytes: its last table, then those before, lose rows until it fits."""
    tables = {name: {**table, "rows": list(table["rows"])} for name, table in summary["tables"].items()}
    while len((found := text({**summary, "tables": tables}) + "\n").encode()) > LIMIT:
        last = next((table for table in reversed(tables.values()) if table["rows"]), None)
        if last is None:
            raise Unfit(f"The figures of {summary['benchmark']} alone take more than {LIMIT} bytes.")
        last["rows"].pop(0 if "key" in last else -1)
        last["left_out"] += 1
    return found


def read(pattern: str, results: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """The summaries whose file name fits the pattern, by name without ending."""
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in sorted(results.glob(f"{pattern}.json"))}


def rows_of(summary: Mapping[str, Any], table: str) -> list[dict[str, Any]]:
    """The rows of a table, each by the names of its columns; none where there is no such table."""
    found = summary.get("tables", {}).get(table, {"columns": [], "rows": []})
    return [dict(zip(found["columns"], row, strict=True)) for row in found["rows"]]


def text(value: object, indent: str = "") -> str:
    """JSON in which a list or an object that fits into a line takes one."""
    line = json.dumps(value, ensure_ascii=False)
    if len(indent) + len(line) <= _WIDTH or not isinstance(value, dict | list):
        return line
    inner = indent + " "
    if isinstance(value, dict):
        parts = [f"{inner}{json.dumps(key)}: {text(of, inner)}" for key, of in value.items()]
    else:
        parts = [inner + text(of, inner) for of in value]
    first, last = ("{", "}") if isinstance(value, dict) else ("[", "]")
    return "\n".join((first, ",\n".join(parts), indent + last))


def _loaded(suffix: str, content: str) -> Any:
    """The value in a JSON file, or those of the lines of a `.jsonl`, without a last line that was cut off."""
    if suffix == ".jsonl":
        return [json.loads(line) for line in content.splitlines() if line.endswith("}")]
    return json.loads(content)


def _added(table: Table, title: str, earlier: Mapping[str, Any]) -> dict[str, object]:
    """The table as it is written, with the rows of the earlier summary that no new one replaces where it has a key."""
    key = [table.columns.index(name) for name in table.key]
    new = _plain(table.rows)
    replaced = {tuple(str(row[at]) for at in key) for row in new}
    before = rows_of(earlier, title) if table.key else []
    old = [row for row in before if tuple(str(row.get(name)) for name in table.key) not in replaced]
    rows = [*([row.get(name) for name in table.columns] for row in old), *new]
    left_out = earlier["tables"][title]["left_out"] if old else 0  # otherwise the run has all rows there ever were
    return {"columns": table.columns, **({"key": table.key} if key else {}), "rows": rows, "left_out": left_out}


def _plain(value: Any) -> Any:
    """The value as JSON has it: lists for tuples, figures to some digits, names of classes (`$`) left out."""
    if isinstance(value, Mapping):
        return {str(key): _plain(of) for key, of in value.items() if key != "$"}
    if isinstance(value, list | tuple):
        return [_plain(of) for of in value]
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.summary", description=__doc__)
    parser.add_argument(
        "files", type=Path, nargs="+", help="raw runs in benchmarks/raw, whose names begin with the benchmark's"
    )
    parser.add_argument("--date", default="", help="when a run was committed that does not say its date")
    options = parser.parse_args()
    from benchmarks.figures import BENCHMARKS

    for file in options.files:
        name = next((name for name in BENCHMARKS if file.stem.startswith(name)), None)
        if name is None:
            parser.error(f"{file} is not named after a benchmark: {', '.join(BENCHMARKS)}.")
        try:
            out = keep(name, file, date=options.date)
        except Unfit as reason:
            parser.error(str(reason))
        if out is None:
            parser.error(f"{file} is not in {RAW}.")
        print(f"{out}: {out.stat().st_size} bytes")


if __name__ == "__main__":
    main()
