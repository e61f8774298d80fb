"""What is kept of benchmark runs is short and says its conditions, and the pages have their figures from it."""

import argparse
import json
import re
from dataclasses import asdict
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pytest
from benchmarks import incremental, server_start, summary
from benchmarks.faults import __main__ as faults
from benchmarks.faults import rounds, shares
from benchmarks.figures import BENCHMARKS, gate, speed
from benchmarks.kernelbench_report import report
from benchmarks.mutants import __main__ as mutants
from benchmarks.mutants.grading import Ending, Outcome
from benchmarks.records import Pair, Run, append
from benchmarks.reviewed import __main__ as reviewed
from benchmarks.summary import LIMIT, RESULTS, Sum, Table, Unfit, fitted, keep, rows_of, summed, write
from benchmarks.verdict_cost import Cost

from kernelwright.proof.jobs import Limits
from kernelwright.values import Device

ROOT = Path(__file__).parents[1]
FILES = sorted(RESULTS.iterdir())
SUMMARIES = summary.read("*")
KNOWN = {"device": "a CPU", "versions": {"torch": "2"}, "date": "2026-01-01", "settings": {"seeds": 3}}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_what_is_kept_of_a_run_is_short_and_says_its_conditions(file: Path) -> None:
    kept = json.loads(file.read_text(encoding="utf-8"))
    assert file.stat().st_size <= LIMIT <= 5 * 1024
    assert kept["device"]
    assert kept["settings"]
    assert all(isinstance(version, str) for version in kept["versions"].values())
    assert kept["versions"]
    assert date.fromisoformat(kept["date"])
    assert kept["figures"]
    assert file.stem.startswith(kept["benchmark"])


def test_every_benchmark_has_a_summary() -> None:
    assert {kept["benchmark"] for kept in SUMMARIES.values()} == set(BENCHMARKS)
    assert "/benchmarks/raw/" in (ROOT / ".gitignore").read_text(encoding="utf-8").splitlines()


# The figures of the pages


def page(name: str) -> str:
    """The page on one line."""
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


def shown(value: float, digits: int) -> str:
    """The figure as a page writes it: half is rounded up, as the summary writes it."""
    return str(Decimal(str(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))


def test_the_tables_of_kernelbench_are_those_of_the_summary() -> None:
    kept, lines = SUMMARIES["kernelbench-h200"], (ROOT / "docs/results.md").read_text(encoding="utf-8").splitlines()
    told = [line for line in report(kept).splitlines() if line]
    assert len(told) > 30
    assert [line for line in told if line not in lines] == []
    behind = {match[1] for line in lines if (match := re.match(r"\| (\d-\d+) \|", line))}
    assert behind == {row["task"] for row in rows_of(kept, "behind_compile")}
    assert len(behind) == kept["figures"]["compile_more_than_5_percent_faster"]


def test_the_words_on_kernelbench_are_those_of_the_summary() -> None:
    kept, results, readme = SUMMARIES["kernelbench-h200"], page("docs/results.md"), page("README.md")
    whole, inaccurate = kept["figures"]["tasks"]["all"], kept["figures"]["compile_not_accurate"]
    number, others = len(inaccurate["relative_error"]), whole["tasks"] - whole["degenerate"]
    assert f"On {number} of the {whole['tasks']} tasks it would not have passed: " in results
    assert ", ".join(inaccurate["relative_error"]) + "." in results
    assert f"On these {number} tasks torch.compile is {inaccurate['compile_over_kept']:.2f}x faster" in results
    over = f"{inaccurate['kept_over_compile_on_others']:.3f}"
    assert f"on the other {others - number} the geomean is {over} in favour of Kernelwright" in results
    assert f"kept on {whole['kept']} of {whole['tasks']} tasks, and all {whole['passed_again']} passed again" in readme
    assert f"torch.compile reaches {whole['compile_over_eager']['geomean']:.3f} over eager" in readme
    assert f"on {number} of them its result is less accurate" in readme


PRODUCTS = "kernelbench-products-h200"
TRIANGLES = ("1-14", "1-15")


def told_in(section: str) -> tuple[str, dict[str, float]]:
    """A section of docs/results.md, and the ratios over eager mode that it tells, by task."""
    words = page("docs/results.md").split(f"## {section}, on an H")[1].split("## ")[0]
    return words, {task: float(ratio) for ratio, task in re.findall(r"(\d+\.\d\d) on (\d-\d+)", words)}


@pytest.mark.parametrize(
    ("section", "name"),
    [
        ("fp32 matrix products", PRODUCTS),
        ("Whole models", "kernelbench-models-h100"),
        ("More whole models", "kernelbench-models-h200"),
        ("Whole models once more", "kernelbench-models-again-h200"),
        ("Whole models with one task to a GPU", "kernelbench-models-third-h200"),
        ("Whole models after the gate's mending", "kernelbench-models-fourth-h200"),
        ("The same with larger operands rounded as they are read", "kernelbench-reduced-again-h200"),
        ("The rest of the tasks with reduced accuracy", "kernelbench-reduced-third-h200"),
        ("Convolutions", "kernelbench-convolutions-h100"),
        ("Convolutions from fp16 parts", "kernelbench-convolutions-h200"),
        ("Convolutions with a faster turn", "kernelbench-convolutions-again-h200"),
        ("Convolutions that had not been run", "kernelbench-convolutions-third-h200"),
        ("Depthwise convolutions and the rest", "kernelbench-convolutions-fourth-h200"),
    ],
)
def test_the_words_on_single_tasks_are_those_of_their_summary(section: str, name: str) -> None:
    words, told = told_in(section)
    ratios = {row["task"]: row["over_eager"] for row in rows_of(SUMMARIES[name], "tasks")}
    assert told == {task: ratio for task, ratio in ratios.items() if ratio != 1.0}
    assert f"kept on {SUMMARIES[name]['figures']['tasks']['all']['kept']} of them" in words


@pytest.mark.parametrize(
    ("section", "name"),
    [
        ("fp32 matrix products", PRODUCTS),
        ("Linear layers", "kernelbench-linear-h200"),
        ("Whole models", "kernelbench-models-h100"),
        ("More whole models", "kernelbench-models-h200"),
        ("Whole models once more", "kernelbench-models-again-h200"),
        ("Whole models with one task to a GPU", "kernelbench-models-third-h200"),
        ("Whole models after the gate's mending", "kernelbench-models-fourth-h200"),
        ("The same with larger operands rounded as they are read", "kernelbench-reduced-again-h200"),
        ("The rest of the tasks with reduced accuracy", "kernelbench-reduced-third-h200"),
        ("Convolutions from fp16 parts", "kernelbench-convolutions-h200"),
        ("Convolutions with a faster turn", "kernelbench-convolutions-again-h200"),
        ("Convolutions that had not been run", "kernelbench-convolutions-third-h200"),
        ("Depthwise convolutions and the rest", "kernelbench-convolutions-fourth-h200"),
    ],
)
def test_the_means_are_those_of_their_summary(section: str, name: str) -> None:
    words, _ = told_in(section)
    means = {row["against"]: row["geomean"] for row in rows_of(SUMMARIES[name], "speedups") if row["of"] == "all"}
    assert re.search(rf"mean over eager( of all \d+)? is {means['eager']:.2f}", " ".join(words.split()))
    if "with TF32" in words:
        assert f"takes {means['eager-tf32']:.2f} of the time" in " ".join(words.split())


def test_the_means_with_reduced_accuracy_are_those_of_their_summaries() -> None:
    words = page("docs/results.md").split("## Linear layers with reduced accuracy allowed")[1].split("## ")[0]
    rows = [rows_of(SUMMARIES[f"kernelbench-reduced-{device}"], "speedups") for device in ("h200", "h100")]
    first, second = ({row["against"]: row["geomean"] for row in of if row["of"] == "all"} for of in rows)
    words = " ".join(words.split())
    assert f"mean is {first['eager-tf32']:.2f} on the H200 and {second['eager-tf32']:.2f} on the H100" in words
    assert f"in fp32 it is {first['eager']:.2f} and {second['eager']:.2f}" in words


def test_the_readme_tells_the_best_of_dense_products() -> None:
    rows = rows_of(SUMMARIES[PRODUCTS], "tasks")
    dense = max(row["over_eager"] for row in rows if row["task"] not in TRIANGLES)
    assert f"up to {dense:.2f}x faster than eager mode on dense matrices" in page("README.md")


def test_the_tables_of_the_readme_are_those_of_the_summaries() -> None:
    readme = page("README.md")
    for row in rows_of(SUMMARIES["examples-h200"], "examples"):
        (strategy,) = row["strategies"]
        ratio = "{speedup:.2f}x ({low:.2f}-{high:.2f})".format(**row)
        assert f"| `{strategy}` | {ratio} | {row['baseline_ms']:#.3g} → {row['candidate_ms']:#.3g} ms |" in readme
    names = {"eager": "eager", "eager-tf32": "eager with TF32", "torch.compile": "torch.compile"}
    rows = [row for row in rows_of(SUMMARIES["kernelbench-h200"], "speedups") if row["of"] == "all"]
    assert len(rows) == len(names)
    for row in rows:
        shares = " | ".join(f"{100 * row[p]:.0f} %" for p in ("fast_1", "fast_1.05", "fast_2"))
        assert f"| {names[row['against']]} | {row['tasks']} | {shares} | {row['geomean']:.3f} |" in readme


def test_the_words_on_the_extension_are_those_of_the_summary() -> None:
    told, results = SUMMARIES["extension"]["figures"], page("docs/results.md")
    lens, progress = told["window_to_lens_ms"], told["click_to_progress_ms"]
    seconds = {name: shown(value / 1e3, 1) for name, value in lens.items()}
    assert f"the first lens {seconds['median']} s after the window's first request" in results
    assert f"(median; {seconds['least']} to {seconds['most']}, the editor's own start included)" in results
    assert f"progress {shown(progress['median'] / 1e3, 2)} s after the click on a lens" in results
    activation = "activation {median} ms of the extension host (median; {least} to {most})"
    assert activation.format(**told["activation_ms"]) in results
    assert f"packed extension {shown(told['vsix_bytes'] / 1e6, 2)} MB" in results


def test_the_words_on_the_scenario_are_those_of_the_summaries() -> None:
    alone, two, results = SUMMARIES["lsp_scenario-h200"], SUMMARIES["lsp_scenario_two-h200"], page("docs/results.md")
    assert f"alone in {alone['figures']['seconds'][0]:.0f} s" in results
    first, second = (shown(seconds, 0) for seconds in two["figures"]["seconds"])
    assert f"by two servers at the same time in {first} s and {second} s" in results
    for file, words in (
        ("triton_softmax.py", "{}x alone and to {}x and {}x beside each other"),
        ("linear_reduction.py", "to {}x alone and to {}x and {}x."),
    ):
        (own,) = (row["speedup"] for row in rows_of(alone, "steps") if row["file"] == file)
        beside = sorted((row["speedup"] for row in rows_of(two, "steps") if row["file"] == file), reverse=True)
        assert words.format(*(shown(ratio, 2) for ratio in (own, *beside))) in results


def test_the_figures_of_both_ways_to_use_a_model_are_those_of_the_summary() -> None:
    results, kept = page("docs/results.md"), SUMMARIES["llm-h200"]
    assert "| calls | answers that passed | tasks with a kept step | fast_1 | fast_2 | geomean |" in results
    refused = kept["figures"]["refused"]
    assert (
        f"Of the {sum(refused.values())} answers that the gate did not pass, {refused['values']} failed `values`"
        in results
    )
    for row in rows_of(kept, "arms"):
        words = {"stepwise": "one strategy at a time", "one-shot": "one-shot rewriting"}[row["arm"]]
        passed, with_step = row["passed_the_gate"] * row["calls"], row["tasks_with_a_kept_step"] * row["tasks"]
        fast = " | ".join(shown(row[share], 1) for share in ("fast_1", "fast_2"))
        told = f"| {words} | {row['calls']} | {passed:.0f} | {with_step:.0f} of {row['tasks']} | {fast} | "
        assert f"{told}{shown(row['geomean'], 2)} |" in results


def test_the_speedups_of_both_ways_to_use_a_model_are_those_of_the_summary() -> None:
    results = page("docs/results.md")
    over: dict[str, list[str]] = {}
    for row in rows_of(SUMMARIES["llm-h200"], "tasks"):
        over.setdefault(row["task"], []).append(shown(row["speedup"], 2))
    assert len(over) == 10
    assert all(f"({task}) | {' | '.join(both)} |" in results for task, both in over.items())


def test_the_figures_of_typing_are_those_of_the_summaries() -> None:
    results, kept, modelled = page("docs/results.md"), SUMMARIES["latency"], SUMMARIES["latency-model"]
    p95, with_a_model = (
        {row["asked"]: shown(row["p95_ms"], 1) for row in rows_of(one, "questions")} for one in (kept, modelled)
    )
    limit = f"{kept['settings']['limit_ms']:.0f}"
    for asked, when in (
        ("a small file, after a change and a person's pause", "after typing"),
        ("5,240 lines with 242 kernels, after a key and a person's pause (0.15 s)", "after typing in 5,000 lines"),
        ("the same together with the key, most of which break the syntax", "right after a key in 5,000 lines"),
    ):
        hover, action = f"hover, {when}", f"code action, {when}"
        row = f"| {asked} | {p95[hover]} | {p95[action]} | {limit} | {with_a_model[hover]} | {with_a_model[action]} |"
        assert row in results
    assert kept["settings"]["long_file"] == {"lines": 5240, "kernels": 242}
    total = shown(SUMMARIES["incremental"]["figures"]["total_ms"]["p95"], 1)
    assert f"Fresh findings of those 5,000 lines take {total} ms (p95)" in results
    cuda, keys = SUMMARIES["incremental-cuda"]["settings"], SUMMARIES["incremental-cuda"]["figures"]["processor_ms"]
    told = f"{cuda['lines']:,} lines of CUDA C++ with {cuda['kernels']} kernels takes the processor {shown(keys['p95'], 0)} ms"
    assert f"{told} to all findings (p95; {shown(keys['p50'], 0)} ms in the median;" in results
    files = SUMMARIES["real_files"]["figures"]
    keys, used = files["key_processor_ms"], files["mb_after"]
    assert f"takes the processor {shown(keys['p95'], 0)} ms to all findings (p95; {shown(keys['p50'], 0)} ms" in results
    assert f"has {shown(used['660'], 0)} MB at the end, and {shown(used['200'], 0)} MB after 200" in results
    servers = {row["server"]: row for row in rows_of(SUMMARIES["server_start"], "servers")}
    served, runs = servers["kernelwright serve"], SUMMARIES["server_start"]["settings"]["runs"]
    assert f"comes {shown(served['ratio'], 2)} times as late" in results
    assert f"(CPU time {shown(served['cpu_ratio'], 2)} times; medians of {runs} rounds" in results
    assert f"with {served['mb']:.0f} MB, and {served['mb_with_a_kernel_hovered']:.0f} MB once a kernel" in results
    modelled = servers[server_start.CONFIGURED]
    assert f"it comes {shown(modelled['ratio'], 2)} times as late, with" in results
    assert f"with {shown(modelled['mb_with_a_kernel_hovered'], 1)} MB once a kernel was hovered over and" in results
    most = SUMMARIES["server_start"]["settings"]["most"]
    for row in (row for name, row in servers.items() if name != server_start.FLOOR):
        assert row["ratio"] <= most["ratio"] <= server_start.MOST_TIME
        assert row["mb_with_a_kernel_hovered"] < most["mb"] <= server_start.MOST_MB


def test_the_figures_of_cuda_files_are_those_of_the_summary() -> None:
    results, told = page("docs/results.md"), SUMMARIES["cuda_files"]["figures"]
    whole, projects = told["all"], told["projects"]
    lines, offered = whole["with a line that ran"], whole["strategy on a GPU"]
    assert f"on {whole['files']} files of SGEMM_CUDA ({projects['siboehm+SGEMM_CUDA']['files']})" in results
    assert f"| | kernels of {whole['kernels']} |" in results
    assert f"which nobody typed | {lines} ({100 * lines / whole['kernels']:.0f} %) |" in results
    assert f"that needs no model | {offered} ({100 * offered / whole['kernels']:.0f} %) |" in results
    assert told["verified against themselves"] == "10 of 10"
    of_llm_c = projects["cuda"]
    assert f"{of_llm_c['with a line that ran']} of {of_llm_c['kernels']} kernels of llm.c" in results
    keys = told["key to findings, ms"]
    assert f"processor {shown(keys['p95'], 0)} ms (p95; {shown(keys['p50'], 0)} ms in the median" in results


def test_the_figures_of_cuda_files_counted_again() -> None:
    results, before, told = page("docs/results.md"), SUMMARIES["cuda_files"], SUMMARIES["cuda_files-again"]
    whole, projects = told["figures"]["all"], told["figures"]["projects"]
    earlier = before["figures"]["projects"]
    names = {"siboehm+SGEMM_CUDA": "SGEMM_CUDA", "NVIDIA+cuda-samples": "cuda-samples", "cuda": "cuda"}
    assert {name: earlier[name]["kernels"] for name in names} == {
        name: projects[now]["kernels"] for name, now in names.items()
    }
    lines, offered = (
        f"{whole[kind]} {words} ({sum(earlier[name][kind] for name in names)} before)"
        for kind, words in (("with a line that ran", "have a line that ran"), ("strategy on a GPU", "a strategy"))
    )
    assert f"of {whole['kernels']} kernels {lines} and {offered}" in results
    sgemm, samples, llm = (projects[name] for name in names.values())
    of = lambda one: f"{one['with a line that ran']} of {one['kernels']}"
    assert f"{of(sgemm)} kernels of SGEMM_CUDA, {of(samples)} of the samples and {of(llm)} of llm.c" in results
    assert told["figures"]["verified against themselves"] == "9 of 10"


# How a run is summed up


def of(name: str, whole: object, folder: Path, **earlier: Any) -> dict[str, Any]:
    """The summary of a raw run of this benchmark."""
    file = folder / f"{name}.json"
    file.write_text(json.dumps(whole), encoding="utf-8")
    found = summed(name, file, earlier)
    assert json.loads(fitted(found)) == found
    return found


def rows(whole: Any) -> Sum:
    """Takes the rows of a raw run as they are."""
    return Sum(KNOWN, {"rows": len(whole)}, {"rows": Table(("number", "words"), whole)})


def added(whole: Any) -> Sum:
    """Takes the rows of a raw run as those of a table that runs add up in."""
    return Sum(KNOWN, {"rows": len(whole)}, {"rows": Table(("number", "words"), whole, key=("number",))})


@pytest.mark.parametrize(("name", "first", "last"), [("rows", True, False), ("added", False, True)])
def test_as_many_rows_are_kept_as_fit(
    name: str, first: bool, last: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.figures.BENCHMARKS", {"rows": rows, "added": added})
    file = tmp_path / f"{name}.json"
    file.write_text(json.dumps([(number, "word " * 10) for number in range(300)]))
    out = keep(name, file, raw=tmp_path, results=tmp_path / "results")
    assert out is not None
    table = json.loads(out.read_text())["tables"]["rows"]
    numbers = [row[0] for row in table["rows"]]
    assert LIMIT - 100 < out.stat().st_size <= LIMIT
    assert len(numbers) + table["left_out"] == 300
    assert (0 in numbers, 299 in numbers) == (first, last)


def test_a_run_that_lies_elsewhere_is_not_kept(tmp_path: Path) -> None:
    write("census", {"any": "thing"}, tmp_path / "census.json")
    assert keep("census", tmp_path / "census.json", raw=tmp_path / "raw", results=tmp_path) is None
    assert json.loads((tmp_path / "census.json").read_text()) == {"any": "thing"}


def test_runs_add_up_where_the_earlier_raw_run_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.figures.BENCHMARKS", {"added": added})
    before = of("added", [[1, "first"], [2, "second"]], tmp_path)
    after = of("added", [[2, "again"], [3, "third"]], tmp_path, **before)
    assert after["tables"]["rows"]["rows"] == [[1, "first"], [2, "again"], [3, "third"]]
    assert of("added", [[2, "again"], [3, "third"]], tmp_path, **after)["tables"] == after["tables"]


@pytest.mark.parametrize("condition", summary.CONDITIONS)
def test_a_run_that_does_not_say_its_conditions_is_refused(
    condition: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = {name: value for name, value in KNOWN.items() if name != condition}
    monkeypatch.setattr("benchmarks.figures.BENCHMARKS", {"some": lambda whole: Sum(known, whole)})
    with pytest.raises(Unfit, match=f"does not say its {condition}"):
        of("some", {"a": 1}, tmp_path)


def test_figures_that_do_not_fit_are_refused() -> None:
    with pytest.raises(Unfit, match="alone take more than"):
        fitted({"benchmark": "some", "figures": {"words": "x" * LIMIT}, "tables": {}})


def test_the_date_of_the_commit_stands_in_for_one_that_is_not_told(tmp_path: Path) -> None:
    lines, told = tmp_path / "cpu_pinning.json", {"runs": 4, "threads": 1, "versions": {"torch": "2"}, "rows": []}
    lines.write_text(json.dumps({**told, "machine": {"processor": "a CPU"}}))
    found = summed("cpu_pinning", lines, {}, "2026-01-02")
    assert (found["date"], found["date_of"]) == ("2026-01-02", "commit")
    lines.write_text(json.dumps({**told, "machine": {"processor": "a CPU"}, "date": "2026-01-01"}))
    found = summed("cpu_pinning", lines, {}, "2026-01-02")
    assert (found["date"], "date_of" in found) == ("2026-01-01", False)


# What the programs write is what the table reads


def test_a_baseline_that_the_gate_refuses_is_counted(tmp_path: Path) -> None:
    control = Outcome("softmax", "control", "control", 0, "", Ending.SURVIVED)
    refused = Outcome("matmul", "control", "control", 0, "", Ending.KILLED, "values")
    fault = Outcome("softmax", "scale@2", "wrong-scale", 1, "dropped: * 2", Ending.KILLED, "values", seconds=2.0)
    options = argparse.Namespace(most=None, seed=0, timeout=120.0, elements=0)
    whole = mutants._result(Device("cpu", "a CPU"), options, Limits(), (), [control, refused, fault], [])
    found = of("mutants", whole | {"not_tried": 0}, tmp_path)
    assert found["figures"]["controls"] == {"asked": 2, "refused": ["matmul"]}
    assert found["figures"]["all"]["killed"] == 1
    assert rows_of(found, "operators") == [
        {
            "operator": "wrong-scale",
            "mutants": 1,
            "killed": 1,
            "equivalent": 0,
            "rounding": 0,
            "outside": 0,
            "missed": 0,
        }
    ]
    assert gate.refused_controls({"a": "True", "b": "False", "c": True, "d": False}) == ["b", "d"]


def test_faults_are_summed_up(tmp_path: Path) -> None:
    held = rounds.Outcome("crash", "abort in the host", "crashed", 0.1, 0.2, 0.01, 0.0, 1.0)
    lost = rounds.Outcome("journal", "journal-locked", "", 0.1, 7.0, 0.01, 0.0, 1.0, ("lost: /tmp/a/b.db is; gone",))
    options = argparse.Namespace(commit="0123456789", count=2, seed=5, jobs=1, gpus=1, only=[])
    ran = shares.Found({"is_gpu": False, "name": "a CPU"}, (), (held, lost))
    found = of("faults", faults._result(options, ran), tmp_path)
    (row,) = rows_of(found, "runs")
    assert (row["commit"], row["kinds"], row["faults"], row["held"], row["most_s"]) == ("0123456", 2, 2, 1, 7.0)
    assert rows_of(found, "problems") == [
        {"commit": "0123456", "kind": "journal-locked", "times": 1, "first": "lost: b.db is"}
    ]


def test_pairs_are_summed_up_by_gate(tmp_path: Path) -> None:
    file = tmp_path / "aa.jsonl"
    runs = [
        Run(f"2026-01-0{day}", Device("cpu", "a CPU"), {"torch": "2"}, f"gate {day}", {"budget": 1.0}) for day in (1, 2)
    ]
    pair = Pair("pointwise", 0.1, "f(randn(8))", 1, "measured", 1.5, low=1.001, ratio=1.01, high=1.02)
    for value in (runs[0], pair, pair, runs[1], pair):
        append(file, value)
    found = summed("aa", file, {})
    assert [(row["gate"], row["pairs"], row["faster"]) for row in rows_of(found, "gates")] == [
        ("gate 1", 2, 2),
        ("gate 2", 1, 1),
    ]
    assert (found["gate"], found["figures"]["pairs"], found["date"]) == ("gate 2", 1, "2026-01-02")


def test_times_in_the_editor_are_summed_up(tmp_path: Path) -> None:
    for language in incremental.LANGUAGES:
        found = of("incremental", incremental.measure(60, 5, 1, language), tmp_path)
        assert found["figures"]["total_ms"]["p95"] > 0
        assert (found["settings"]["keys"], found["settings"]["kernels"] > 0) == (5, True)
    start = server_start.Start(0.3, 0.2, 42.0, 44.0)
    figures = server_start.figures([dict.fromkeys(server_start.COMMANDS, start)])
    known = {"date": "2026-01-01", "versions": {"pygls": "2"}, "machine": incremental.machine(), "runs": 1, "most": {}}
    found = of("server_start", {**known, "to_the_initialize_reply": figures}, tmp_path)
    assert [row["server"] for row in rows_of(found, "servers")] == list(server_start.COMMANDS)
    assert found["device"] == incremental.machine()["processor"]


def test_tasks_of_kernelbench_are_summed_up(tmp_path: Path) -> None:
    def line(task: int, mine: float, compiled: float, **more: Any) -> str:
        times = {"eager": 2.0, "eager-tf32": 2.0, "candidate": mine, "torch.compile": compiled}
        step = {"outcome": "kept" if mine < 2.0 else "rejected", "measurement": None}
        about = {"level": 1, "task": task, "name": f"{task}_Task", "version": "0.1.0", "applicable": ["torch.some"]}
        timings = {name: {"median_ms": ms} for name, ms in times.items()}
        device = {"name": "a GPU", "torch": "2", "triton": "3"}
        return json.dumps({**about, "device": device, "timings": timings, "steps": [step], **more})

    refused = {"torch.compile": "accuracy: max |err| 0.3; relative 0.0016, root mean square 0.1"}
    file = tmp_path / "kernelbench.jsonl"
    lines = [
        line(1, 1.0, 0.5),
        line(2, 0.5, 1.0),
        line(3, 2.0, 2.0, inaccurate=refused),
        line(4, 1.0, 1.0, degenerate="zero"),
    ]
    file.write_text("\n".join([*lines, '{"level": 1, "ta']))
    found = summed("kernelbench", file, {}, "2026-01-01")
    whole = {row["against"]: row for row in rows_of(found, "speedups") if row["of"] == "all"}
    assert (whole["eager"]["tasks"], whole["eager"]["geomean"]) == (3, 2.0)
    assert whole["torch.compile"]["fast_2"] == 0.0
    assert rows_of(found, "behind_compile") == [
        {"task": "1-1", "name": "Task", "over_eager": 2.0, "compile_faster_by": 2.0}
    ]
    assert [row["task"] for row in rows_of(found, "tasks")] == ["1-2", "1-3"]
    assert found["figures"]["compile_not_accurate"]["relative_error"] == {"1-3": 0.0016}
    assert found["figures"]["degenerate_over_eager"] == {"1-4": 2.0}
    assert "| 1-1 | Task | 2.00 |" in report(found)


def test_answers_of_models_are_summed_up(tmp_path: Path) -> None:
    def line(arm: str, outcome: str, verdict: str | None, failed: list[str], ratio: float | None) -> str:
        step = {"strategy": "torch.some", "outcome": outcome, "verdict": verdict, "failed_checks": failed}
        usage = {"calls": 1, "tokens_in": 10, "tokens_out": 5, "dollars": 0.0}
        about = {"level": 1, "task": 2, "arm": arm, "device": {"name": "a CPU"}, "settings": {"calls": 1}}
        known = {**about, "date": "2026-01-01", "versions": {"torch": "2"}, "provider": "dir:replies", "ending": ""}
        return json.dumps(
            {**known, "steps": [step], "speedup": ratio and {"ratio": ratio}, "usage": usage, "seconds": 1.0}
        )

    file = tmp_path / "llm.jsonl"
    failed = line("one-shot", "rejected", "failed", ["Check values failed on seed 3: max |err| 0.3"], None)
    file.write_text("\n".join([line("stepwise", "kept", "passed", [], 2.0), failed, '{"level": 1']))
    found = summed("llm", file, {})
    assert found["settings"] == {"provider": "dir:replies", "calls": 1}
    assert found["figures"] == {"refused": {"values": 1}}
    assert [(row["arm"], row["geomean"]) for row in rows_of(found, "arms")] == [("stepwise", 2.0), ("one-shot", 1.0)]
    assert rows_of(found, "tasks")[0]["kept"] == ["torch.some"]


def test_seconds_of_verdicts_are_summed_up(tmp_path: Path) -> None:
    trials = [
        asdict(Cost(kernel, "f(randn(8))", "measured", ms, 9, seconds, {"warm-up": seconds / 2}, {}))
        for kernel, ms, seconds in (
            ("softmax 20 us", 0.02, 1.0),
            ("softmax 20 us", 0.02, 3.0),
            ("triton softmax 1 s", 1e3, 9.0),
        )
    ]
    found = of("verdict_cost", {**KNOWN, "trials": trials}, tmp_path)
    assert found["figures"]["torch"] == {
        "below_1_ms": {"count": 2, "median": 2.0, "least": 1.0, "most": 3.0, "within_goal": 1},
        "from_1_ms": {"count": 0},
    }
    assert found["figures"]["Triton"]["from_1_ms"]["median"] == 9.0
    assert rows_of(found, "stages_below_1_ms") == [{"stage": "warm-up", "median_s": 1.0}]


def test_rewrites_of_reviewers_are_summed_up(tmp_path: Path) -> None:
    outcomes = [
        reviewed.Outcome("wrong", name, ending, "", 1.0) for name, ending in (("a", "values"), ("b", "accepted"))
    ]
    whole = {**KNOWN, "limits": {"$": "Limits", "seeds": 3}, "outcomes": [asdict(one) for one in outcomes]}
    found = of("reviewed", whole, tmp_path)
    assert found["settings"] == {"seeds": 3}
    assert found["figures"]["wrong"] == {"texts": 2, "as_wanted": 1, "endings": {"values": 1, "accepted": 1}}
    assert rows_of(found, "not_as_wanted") == [{"kind": "wrong", "name": "b", "ending": "accepted"}]


def test_a_mean_over_tasks_has_its_interval() -> None:
    assert speed.across([]) == (None, None, None)
    assert speed.across([2.0]) == (pytest.approx(2.0), None, None)
    mean, low, high = speed.across([1.0, 4.0, 2.0, 2.0])
    assert (mean, low * high) == (pytest.approx(2.0), pytest.approx(4.0))
    assert 1.0 < low < 2.0 < high < 4.0
