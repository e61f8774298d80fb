"""Writes docs/evidence.md from what is kept in benchmarks/results: `python -m benchmarks.evidence`; a test keeps it current."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks.summary import ROOT, read, rows_of
from corpus import Case, cases

PAGE = ROOT / "docs" / "evidence.md"
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
    for name, run in read("mutants-*").items():
        whole, controls = run["figures"]["all"], run["figures"]["controls"]
        faults = whole["killed"] + whole["missed"]
        left = whole["mutants"] - faults
        caught = f"{whole['killed']} of {faults} ({whole['share']:.1%})"
        refused = f"{len(controls['refused'])} of {controls['asked']}"
        rows.append((*_conditions(name, run), whole["mutants"], caught, left, refused))
        if "unbounded" not in name:
            missed += [(name, f"`{m['kernel']}`", m["description"], m["why"]) for m in rows_of(run, "missed")]
            missed += _more(name, run, "missed", 4)
    return _section(
        "Planted faults",
        "One fault at a time in a kernel that is right: `python -m benchmarks.mutants`. Left out are mutants that are "
        "equivalent, round otherwise, or differ in what a verdict does not speak of. `mutants-h200-unbounded` is from before "
        "calls between unmapped pages; `mutants-cuda-*` is of `--language cuda`: faults in what each strategy for CUDA C++ "
        "makes of its example, in the emulator.",
        _table((*_CONDITIONS, "mutants", "faults ended", "left out", "baselines refused"), rows),
        _table(("run", "kernel", "missed fault", "why"), missed),
    )


def _reviewed() -> str:
    rows, open_ = [], []
    for name, run in read("reviewed-*").items():
        for kind, wanted in _WANTED.items():
            found = run["figures"][kind]
            rows.append((*_conditions(name, run), wanted, f"{found['as_wanted']} of {found['texts']}"))
            others = [f"`{one['name']}`" for one in rows_of(run, "not_as_wanted") if one["kind"] == kind]
            left = found["texts"] - found["as_wanted"] - len(others)
            open_.append((kind, ", ".join([*others, *([f"{left} more"] if left else [])])))
    return _section(
        "Rewrites by reviewers",
        "Written by language models that had read the gate and aimed at what it does not look at, and kept because they "
        "passed: the shares say where the gate is open, not how often it errs. `python -m benchmarks.reviewed`, files in "
        "`corpus/reviewed/`.",
        _table((*_CONDITIONS, "kind: wanted", "as wanted"), rows),
        _table(("kind", "not as wanted"), open_),
    )


def _against_itself() -> str:
    run = read("aa-h200")["aa-h200"]
    counts = ("pairs", "measured", "faster", "kept", "slower", "unsteady")
    rows = [
        (*_row(one, "date", "device", "gate", *counts), f"{one['width']:.1%}", f"{one['seconds']:.1f}")
        for one in rows_of(run, "gates")
    ]
    head = ("date", "device", "gate", *counts, "CI", "s")
    by_size = [
        (f"{one['ms']:.3g}", *_row(one, "pairs", "faster", "slower"), f"{one['ratio']:.4f}", f"{one['width']:.1%}")
        for one in rows_of(run, "sizes")
    ]
    return _section(
        "A kernel against itself",
        "Each pair is a whole verdict of a text against itself with another comment: nothing may be faster. "
        f"`python -m benchmarks.aa`, {_versions(run['versions'])}. One row a gate, and the last of them by size.",
        _table(head, [*_more("earlier", run, "gates", len(head)), *rows]),
        _table(("ms", "pairs", "faster", "slower", "ratio", "CI"), by_size),
    )


def _planted() -> str:
    run = read("planted-h200")["planted-h200"]
    rows = [
        (
            *_row(one, "date", "device", "gate"),
            f"{one['plant']:.0%}",
            *(f"{one[name] - 1:.2%}" for name in ("true", "told")),
            f"{one['seen']} of {one['trials']}",
            one["wrong_way"],
        )
        for one in rows_of(run, "plants")
    ]
    head = ("date", "device", "gate", "plant", "true (median)", "told (median)", "seen", "wrong way")
    return _section(
        "Planted slow-downs",
        "More work in the candidate or in the baseline, whose true size a long run in one process tells: it must be seen, "
        f"and the right way round. `python -m benchmarks.planted`, {_versions(run['versions'])}.",
        _table(head, [*_more("earlier", run, "plants", len(head)), *rows]),
    )


def _cost() -> str:
    rows = []
    for name, run in read("verdict_cost-*").items():
        goals = run["figures"].get("goals_s", {})  # earlier runs have one for both languages
        for kind in ("torch", "Triton"):
            short, long = (run["figures"][kind][which] for which in ("below_1_ms", "from_1_ms"))
            within = f"{short['within_goal']} of {short['count']} in {goals.get(kind) or run['figures']['goal_s']} s"
            rows.append((*_conditions(name, run), kind, _seconds(short), within, _seconds(long)))
    return _section(
        "Seconds of a verdict",
        "A whole trial of a kernel against itself, warm, with measurement. `python -m benchmarks.verdict_cost`.",
        _table((*_CONDITIONS, "kernels", "below 1 ms: median (range)", "within the goal", "from 1 ms on"), rows),
    )


def _accuracy() -> str:
    runs, rows = read("accuracy-*"), []
    for name, run in runs.items():
        for one in rows_of(run, "not_as_accurate"):
            part = f"{one['least']:.2g} to {one['most']:.2g}"
            rows.append((name, *_row(one, "dtype", "function", "rewrite"), part, _classes(one["classes"])))
        rows += _more(name, run, "not_as_accurate", 6)
    ran = [(name, run["device"], f"torch {run['versions']['torch']}", _date(run)) for name, run in runs.items()]
    return _section(
        "Accuracy classes",
        "Rewrites that do not end as accurate as the baseline on every size and seed. Of what counts as accurate, the part "
        "that the errors take: 1 is the border. `python -m benchmarks.accuracy` has all rewrites.",
        _table(("run", "device", "versions", "date"), ran),
        _table(("run", "dtype", "function", "rewrite", "part", "classes"), rows),
    )


def _classes(classes: Mapping[str, int]) -> str:
    return ", ".join(f"{word} {count}" for word, count in classes.items())


def _faults() -> str:
    head = ("run", "device", "versions", "date", "commit", "kinds", "held", "next job, median / slowest (s)")
    rows = []
    for name, run in read("faults-*").items():
        rows += _more(name, run, "runs", len(head))
        for one in rows_of(run, "runs"):
            held, seconds = f"{one['held']} of {one['faults']}", f"{one['median_s']:.1f} / {one['most_s']:.1f}"
            rows.append((name, *_row(one, "device", "versions", "date", "commit", "kinds"), held, seconds))
    return _section(
        "What the server survives",
        "Faults injected into a warm server: after each the next requests must be answered rightly within 5 s, nothing "
        "acknowledged be lost and nothing be left. `python -m benchmarks.faults`.",
        _table(head, rows),
    )


_CONDITIONS = ("run", "device", "versions", "date", "gate")


def _conditions(name: str, run: Mapping[str, Any]) -> tuple[str, ...]:
    """Which file, device, versions, date and gate a run is of."""
    return name, run["device"], _versions(run["versions"]), _date(run), run["gate"]


def _versions(versions: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {versions[name]}" for name in ("torch", "triton") if name in versions)


def _date(run: Mapping[str, Any]) -> str:
    """The date, and of what it is where not of the run."""
    return f"{run['date']} (of the {run['date_of']})" if "date_of" in run else run["date"]


def _row(one: Mapping[str, Any], *columns: str) -> tuple[object, ...]:
    return tuple(one[name] for name in columns)


def _more(name: str, run: Mapping[str, Any], table: str, columns: int) -> list[tuple[str, ...]]:
    """A row that tells how many rows the summary has left out; none where it has all."""
    left = run["tables"][table]["left_out"]
    return [(name, f"{left} more", *[""] * (columns - 2))] if left else []


def _seconds(of: Mapping[str, float]) -> str:
    return f"{of['median']:.1f} ({of['least']:.1f} to {of['most']:.1f})" if of["count"] else "-"


def _section(title: str, words: str, *tables: str) -> str:
    return "\n\n".join((f"## {title}", words, *tables))


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
