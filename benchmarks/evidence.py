"""Writes docs/evidence.md from what is kept in benchmarks/results: `python -m benchmarks.evidence`; a test keeps it current."""

import json
import statistics
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from benchmarks import aa, planted, records  # noqa: E402
from benchmarks.reviewed.__main__ import KINDS, Outcome  # noqa: E402
from benchmarks.verdict_cost import GOAL  # noqa: E402
from corpus import Case, cases  # noqa: E402

from kernelwright.values import Accuracy  # noqa: E402

RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "evidence.md"
_UNKNOWN = "not recorded"
_ACCURATE = (str(Accuracy.BIT_EXACT), str(Accuracy.AS_BASELINE))
_SHORT = 1.0  # milliseconds: the goal for the seconds of a verdict is for kernels below
_HEAD = """# Evidence

How often the gate and the clock are right, as far as it was measured. Generated from `benchmarks/results/` by
`python -m benchmarks.evidence`. What a verdict claims is in [trust](trust.md). "Gate" is a digest of the sources that decide a
verdict: runs with the same digest are of the same gate, and most are of an earlier one than this commit's."""
_WANTED = {
    "wrong": "wrong: not accepted",
    "unreal": "faster only by the candidate's own clock: not accepted as faster",
    "honest": "honest: accepted",
}


def page() -> str:
    """The whole page as Markdown."""
    parts = (_sets(), _mutants(), _reviewed(), _against_itself(), _planted(), _cost(), _accuracy(), _faults())
    return "\n\n".join((_HEAD, *parts)) + "\n"


def _sets() -> str:
    """The exploits and controls of the tests: counted, since a test run is what holds them."""
    rows = [_counted(cases("exploits"), "exploits, refused", "tests/cheats/test_exploits.py")]
    rows += [_counted(cases("controls"), "controls, accepted", "tests/controls/test_controls.py")]
    return _section(
        "Exploits and controls",
        "Texts that would look fast and right without being it, and honest kernels that look like them or are rare. Each is "
        "a test, so these are counts of files: no outcome is kept, and a run of the tests fails where one differs. Those for "
        "a GPU run with `-m gpu`; `KERNELWRIGHT_CONTROL_REPEATS=10` asks ten times.",
        _table(("set", "files", "without a GPU", "on a GPU only", "command"), rows),
    )


def _counted(found: Sequence[Case], what: str, file: str) -> tuple[object, ...]:
    on_gpu = sum("gpu" in one.marks for one in found)
    return what, len(found), len(found) - on_gpu, on_gpu, f"`python -m pytest {file}`"


def _mutants() -> str:
    rows, missed = [], []
    for name, run in _runs("mutants-*.json"):
        whole = run["all"]
        faults = whole["killed"] + whole["missed"]
        left = whole["mutants"] - faults
        caught = f"{whole['killed']} of {faults} ({whole['share']:.1%})"
        refused = sum(not passed for passed in run["controls"].values())
        rows.append((*_conditions(name, run), whole["mutants"], caught, left, f"{refused} of {len(run['controls'])}"))
        survivors = (one for one in run["survivors"] if one["kind"] == "missed")
        missed += [(name, f"`{one['kernel']}`", one["description"], one["why"]) for one in survivors]
    return _section(
        "Planted faults",
        "One fault at a time in a kernel that is right: `python -m benchmarks.mutants`. Left out are mutants that are "
        "equivalent, round otherwise, or differ in what a verdict does not speak of. `mutants-h200-unbounded` is from before "
        "calls between unmapped pages.",
        _table((*_CONDITIONS, "mutants", "faults ended", "left out", "baselines refused"), rows),
        _table(("run", "kernel", "missed fault", "why"), [row for row in missed if "unbounded" not in row[0]]),
    )


def _reviewed() -> str:
    rows, open_ = [], []
    for name, run in _runs("reviewed-*.json"):
        outcomes = [Outcome(**one) for one in run["outcomes"]]
        for kind in KINDS:
            these = [one for one in outcomes if one.kind == kind]
            good = sum(one.as_it_should for one in these)
            rows.append((*_conditions(name, run), _WANTED[kind], f"{good} of {len(these)}"))
            open_.append((kind, ", ".join(f"`{one.name}`" for one in these if not one.as_it_should)))
    return _section(
        "Rewrites by reviewers",
        "Written by language models that had read the gate and aimed at what it does not look at, and kept because they "
        "passed: the shares say where the gate is open, not how often it errs. `python -m benchmarks.reviewed`, files in "
        "`corpus/reviewed/`.",
        _table((*_CONDITIONS, "kind: wanted", "as wanted"), rows),
        _table(("kind", "not as wanted"), open_),
    )


def _against_itself() -> str:
    runs, rows = records.read(RESULTS / "aa-h200.jsonl"), []
    for run in _gates(runs):
        row = aa.row("", records.alike(runs, run))
        again = (row.measured, row.faster, row.kept, row.slower, row.unsteady, f"{row.width:.1%}", f"{row.seconds:.1f}")
        rows.append((run.date[:10], run.device.name, run.gate, row.pairs, *again))
    sizes = records.alike(runs, runs[-1][0])
    by_size = [
        (f"{ms:.3g}", one.pairs, one.faster, one.slower, f"{one.ratio:.4f}", f"{one.width:.1%}")
        for ms in sorted({pair.target_ms for pair in sizes})
        for one in [aa.row("", [pair for pair in sizes if pair.target_ms == ms])]
    ]
    return _section(
        "A kernel against itself",
        "Each pair is a whole verdict of a text against itself with another comment: nothing may be faster. "
        f"`python -m benchmarks.aa`, {_versions(runs[-1][0].versions)}. One row a gate, and the last of them by size.",
        _table(
            ("date", "device", "gate", "pairs", "measured", "faster", "kept", "slower", "unsteady", "CI", "s"), rows
        ),
        _table(("ms", "pairs", "faster", "slower", "ratio", "CI"), by_size),
    )


def _planted() -> str:
    runs, rows = records.read(RESULTS / "planted-h200.jsonl"), []
    for run in _gates(runs):
        pairs = records.alike(runs, run)
        for plant in planted.GOALS:
            own = [pair for pair in pairs if abs(pair.plant) == plant]
            if own:
                row = planted.row(plant, "all", own)
                told = (f"{row.true - 1:.2%}", f"{row.told - 1:.2%}", f"{row.seen} of {row.trials}", row.wrong_way)
                rows.append((run.date[:10], run.device.name, run.gate, f"{plant:.0%}", *told))
    return _section(
        "Planted slow-downs",
        "More work in the candidate or in the baseline, whose true size a long run in one process tells: it must be seen, "
        f"and the right way round. `python -m benchmarks.planted`, {_versions(runs[-1][0].versions)}.",
        _table(("date", "device", "gate", "plant", "true (median)", "told (median)", "seen", "wrong way"), rows),
    )


def _cost() -> str:
    rows = []
    for name, run in _runs("verdict_cost-*.json"):
        for kind, of in (("torch", _costs(run, triton=False)), ("Triton", _costs(run, triton=True))):
            short = [one["seconds"] for one in of if 0 < one["median_ms"] < _SHORT]
            long = [one["seconds"] for one in of if one["median_ms"] >= _SHORT]
            within = f"{sum(seconds <= GOAL for seconds in short)} of {len(short)}"
            rows.append((*_conditions(name, run), kind, _seconds(short), within, _seconds(long)))
    return _section(
        "Seconds of a verdict",
        f"A whole trial of a kernel against itself, warm, with measurement. The goal is {GOAL} s for kernels below 1 ms. "
        "`python -m benchmarks.verdict_cost`.",
        _table((*_CONDITIONS, "kernels", "below 1 ms: median (range)", "within the goal", "from 1 ms on"), rows),
    )


def _costs(run: dict[str, Any], *, triton: bool) -> list[dict[str, Any]]:
    return [one for one in run["trials"] if one["kernel"].lower().startswith("triton") is triton]


def _accuracy() -> str:
    rows = [
        (name, one["dtype"], one["function"], one["rewrite"], "{:.2g} to {:.2g}".format(*one["used"]), _classes(one))
        for name, run in _runs("accuracy-*.json")
        for one in run["rows"]
        if one["found"] not in _ACCURATE
    ]
    ran = [
        (name, run["device"], f"torch {run['torch']}", run.get("date", _UNKNOWN))
        for name, run in _runs("accuracy-*.json")
    ]
    return _section(
        "Accuracy classes",
        "Rewrites that do not end as accurate as the baseline on every size and seed. Of what counts as accurate, the part "
        "that the errors take: 1 is the border. `python -m benchmarks.accuracy` has all rewrites.",
        _table(("run", "device", "versions", "date"), ran),
        _table(("run", "dtype", "function", "rewrite", "part", "classes"), rows),
    )


def _classes(row: dict[str, Any]) -> str:
    return ", ".join(f"{word} {count}" for word, count in row["classes"].items())


def _faults() -> str:
    rows = []
    for name, whole in _runs("faults-*.json"):
        for run in whole["runs"]:
            seconds = f"{run['all']['next_s']['median']:.1f} / {run['all']['next_s']['max']:.1f}"
            held = f"{run['all']['held']} of {run['all']['faults']}"
            conditions = (run["device"]["name"], _versions(run["versions"]), run["date"], run["commit"][:7])
            rows.append((name, *conditions, len(run["kinds"]), held, seconds))
    return _section(
        "What the server survives",
        "Faults injected into a warm server: after each the next requests must be answered rightly within 5 s, nothing "
        "acknowledged be lost and nothing be left. `python -m benchmarks.faults`.",
        _table(
            ("run", "device", "versions", "date", "commit", "kinds", "held", "next job, median / slowest (s)"), rows
        ),
    )


_CONDITIONS = ("run", "device", "versions", "date", "gate")


def _conditions(name: str, run: dict[str, Any]) -> tuple[str, ...]:
    """Which file, device, versions, date and gate a run is of."""
    return name, run["device"]["name"], _versions(run["versions"]), run.get("date", _UNKNOWN)[:10], run["gate"]


def _versions(versions: Any) -> str:
    return ", ".join(f"{name} {versions[name]}" for name in ("torch", "triton") if name in versions)


def _runs(pattern: str) -> list[tuple[str, dict[str, Any]]]:
    files = sorted(RESULTS.glob(pattern))
    return [(file.stem, json.loads(file.read_text(encoding="utf-8"))) for file in files]


def _gates(runs: Sequence[tuple[records.Run, list[records.Pair]]]) -> list[records.Run]:
    """The first run of each gate that has pairs, in the order of the file."""
    found: dict[str, records.Run] = {}
    for run, pairs in runs:
        if pairs:
            found.setdefault(run.gate, run)
    return list(found.values())


def _seconds(of: Sequence[float]) -> str:
    return f"{statistics.median(of):.1f} ({min(of):.1f} to {max(of):.1f})" if of else "-"


def _section(title: str, words: str, *tables: str) -> str:
    return "\n\n".join((f"## {title}", words, *tables))


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
