"""How a kernel, its facts and a step look on a terminal."""

from rich.markup import escape
from rich.table import Table

from kernelwright import words
from kernelwright.cli.console import OUT
from kernelwright.macro.strategies import title_of
from kernelwright.macro.strategy import Observation
from kernelwright.menu import Menu
from kernelwright.proof.jobs import CompileResult
from kernelwright.source.roofline import bound, known_work
from kernelwright.values import Check, Device, Measurement, Outcome, Step, Verdict, apply

_MOST_NAMES = 8  # of kernels and operators, in the line below the checks
_COLOURS = {Outcome.KEPT: "green", Outcome.REJECTED: "yellow", Outcome.REVERTED: "yellow"}


def show_card(observation: Observation, roof: Device) -> None:
    """Show name, workload, device, and which side of the roofline of `roof` the kernel is on: timings come below it."""
    kernel, workload = observation.kernel, observation.workload
    OUT.print(f"[bold]{escape(kernel.name)}[/]  {kernel.language.value}, line {kernel.name_line + 1}")
    if workload:
        OUT.print(f"  workload   {escape(workload.described)}  [dim]({workload.source.value})[/]")
    OUT.print(f"  device     {escape(describe(observation.device))}")
    work = known_work(kernel, workload, observation.graph)
    if work and roof.bandwidth:
        side = bound(work, roof)
        least = words.least_time(side.floor_ms, roof, observation.device.name)
        OUT.print(
            f"  roofline   {side.kind}-bound on {escape(roof.name)}: at least {work.bytes / 1e6:.4g} MB and "
            f"{work.flops / 1e9:.4g} GFLOP{f', {least}' if least else ''}"
        )


def show_resources(compiled: CompileResult, roof: Device) -> None:
    for r in compiled.resources:
        spills = f", {r.spill_bytes} B spilled" if r.spill_bytes else ""
        OUT.print(
            f"  compiled   {escape(r.kernel)} for {escape(roof.name)} (sm_{r.compute_capability}): {r.registers} registers"
            f"{spills}, {r.shared_bytes} B shared memory, {r.num_warps} warps, occupancy {r.occupancy:.0%} "
            f"(limited by {r.limited_by})"
        )


def show_reasons(menu: Menu) -> None:
    """What each strategy says of the kernel: why it does not apply, or what it would save."""
    for offer in menu.ordered:
        reason = offer.refusal.reason if offer.refusal is not None else menu.reason(offer.strategy.id)
        OUT.print(f"  {escape(offer.strategy.title)}: [dim]{escape(reason)}[/]")


def show_step(step: Step) -> None:
    """The sentence, then the checks as a table and the timings."""
    title = title_of(step.action.strategy)
    colour = _COLOURS[step.outcome]
    OUT.print(f"\n[{colour}]{step.outcome.value}[/]  {escape(words.of_step(step, title))}  [dim]{step.id}[/]")
    if step.verdict:
        show_checks(step.verdict)
    if step.measurement and step.verdict and words.measured(step.verdict, step.measurement):
        show_timings(step.measurement)


def show_checks(verdict: Verdict) -> None:
    """One row a check name: how many cases passed, and the most telling evidence (the first failure, else the last)."""
    table = Table(box=None, padding=(0, 2), show_header=True, header_style="dim")
    for column in ("check", "passed", "evidence"):
        table.add_column(column, overflow="fold")
    by_name: dict[str, list[Check]] = {}
    for check in verdict.checks:
        by_name.setdefault(check.name, []).append(check)
    for name, checks in by_name.items():
        passed = sum(check.passed for check in checks)
        shown = next((check for check in checks if not check.passed), checks[-1])
        style = "green" if passed == len(checks) else "red"
        table.add_row(name, f"[{style}]{passed} of {len(checks)}[/]", escape(f"{shown.case}: {shown.detail}"))
    for lacking in verdict.unchecked:
        table.add_row(lacking.name, "[yellow]not made[/]", escape(lacking.why))
    OUT.print(table)
    if verdict.share is not None and (share := words.of_share(verdict.share, _MOST_NAMES)):
        OUT.print(f"  [dim]{escape(share)}[/]")


def show_timings(measured: Measurement) -> None:
    table = Table(box=None, padding=(0, 2), header_style="dim")
    for column in ("", "median", "p10", "p90", "samples"):
        table.add_column(column, justify="left" if not column else "right")
    for name, timing in (
        ("baseline", measured.baseline),
        ("previous", measured.previous),
        ("this", measured.candidate),
    ):
        figures = (words.milliseconds(v) + " ms" for v in (timing.median_ms, timing.p10_ms, timing.p90_ms))
        table.add_row(name, *figures, str(timing.samples))
    OUT.print(table)
    OUT.print(f"  [dim]{escape(', '.join(f'{k}: {v}' for k, v in measured.conditions.items()))}[/]")


def show_diff(before: str, after: str, name: str) -> None:
    import difflib

    lines = difflib.unified_diff(before.splitlines(), after.splitlines(), f"a/{name}", f"b/{name}", lineterm="")
    OUT.print()
    for line in lines:
        colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
        OUT.print(f"[{colour}]{escape(line)}[/]" if colour else escape(line))


def describe(device: Device) -> str:
    found = [
        f"torch {device.torch}" if device.torch else "no torch",
        f"triton {device.triton}" if device.triton else "",
    ]
    return f"{device.name} ({', '.join(part for part in found if part)})"


def text_after(steps: list[Step], text: str) -> str:
    for step in steps:
        if step.outcome is Outcome.KEPT and step.edits:
            text = apply(step.edits, text)
    return text
