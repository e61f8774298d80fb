"""How accurate honest and reduced rewrites are beside their baselines, and which class the gate gives each.

`python -m benchmarks.accuracy [--device cuda] [--seeds 4]`: every rewrite on several sizes and seeds against the fp64 run of
its baseline, with the comparison that the gate uses. The table is printed last.
"""

import argparse
import math
import platform
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import torch
from benchmarks import incremental, summary
from benchmarks.families import FAMILIES
from benchmarks.rewrites import Family, Run

from kernelwright import __version__
from kernelwright.proof.worker.answers.compare import values
from kernelwright.proof.worker.answers.deviation import Deviation, deviation, typical_size
from kernelwright.proof.worker.answers.expected import Expected
from kernelwright.proof.worker.answers.form import Finding
from kernelwright.proof.worker.answers.tolerance import RMS_SHARE, allowed, rounding_floor
from kernelwright.values import Accuracy

SHORT = {torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16"}
SCALES = (1.0, 3.0)
_WRONG = "wrong values"
_WORST_LAST = (*Accuracy, _WRONG)


@dataclass(frozen=True)
class Sample:
    """One rewrite on one size and seed; errors relative to `|reference| + scale`, in units of the dtype's rounding (eps / 2).

    `used`: which part of what counts as accurate the error takes, of the largest or of the root mean square.
    """

    dtype: str
    function: str
    rewrite: str
    kind: str  # "honest" or "reduced"
    shapes: str
    seed: int
    own_max: float
    own_rms: float
    max: float
    rms: float
    used: float
    found: str  # an Accuracy, or "wrong values"


@dataclass(frozen=True)
class Row:
    """All samples of one rewrite: medians of the baseline's own errors, the range of the ratios, the worst class."""

    dtype: str
    function: str
    rewrite: str
    kind: str
    samples: int
    own_max: float
    own_rms: float
    max_ratio: tuple[float, float]
    rms_ratio: tuple[float, float]
    rms: float
    used: tuple[float, float]
    found: str
    classes: dict[str, int]

    @property
    def line(self) -> str:
        most = self.classes[self.found]
        found = self.found if most == self.samples else f"{self.found} ({most} of {self.samples})"
        ranges = " | ".join(f"{low:.2g} to {high:.2g}" for low, high in (self.max_ratio, self.rms_ratio, self.used))
        errors = f"{self.own_max:.2g} | {self.own_rms:.2g} | {self.rms:.2g}"
        return f"| {self.dtype} | {self.function} | {self.rewrite} | {self.kind} | {errors} | {ranges} | {found} |"


def rewrites(family: Family, dtype: torch.dtype) -> Iterator[tuple[str, str, Run]]:
    """(name, kind, function) of those that are made for the dtype."""
    wide = dtype is torch.float32
    for kind, given in (
        ("honest", family.honest if wide else family.narrow_honest),
        ("reduced", family.reduced if wide else family.narrow_reduced),
    ):
        yield from ((name, kind, run) for name, run in given.items())


def samples(family: Family, dtype: torch.dtype, device: str, seeds: int) -> Iterator[Sample]:
    for shapes in family.sizes:
        for seed in range(seeds):
            generator = torch.Generator(device).manual_seed(seed)
            scale = SCALES[seed % len(SCALES)]
            given = [(torch.randn(shape, generator=generator, device=device) * scale).to(dtype) for shape in shapes]
            baseline = family.baseline(*given)
            reference = family.baseline(*(x.double() for x in given))
            size, unit = typical_size(reference, dtype), torch.finfo(dtype).eps / 2
            own = deviation(reference, baseline, baseline, size)
            for name, kind, run in rewrites(family, dtype):
                got = run(*given)
                found = values(Expected(reference, baseline), got, family.terms(shapes))
                error = deviation(reference, got, baseline, size)
                yield Sample(
                    SHORT[dtype],
                    family.name,
                    name,
                    kind,
                    " ".join("x".join(map(str, shape)) for shape in shapes),
                    seed,
                    own.worst / unit,
                    own.rms / unit,
                    error.worst / unit,
                    error.rms / unit,
                    _used(error, own, dtype, family.terms(shapes)),
                    _WRONG if isinstance(found, Finding) else str(found.accuracy),
                )


def row(of: Sequence[Sample]) -> Row:
    first = of[0]
    classes = {name: sum(s.found == name for s in of) for name in map(str, _WORST_LAST)}
    return Row(
        first.dtype,
        first.function,
        first.rewrite,
        first.kind,
        len(of),
        statistics.median(s.own_max for s in of),
        statistics.median(s.own_rms for s in of),
        _range([_ratio(s.max, s.own_max) for s in of]),
        _range([_ratio(s.rms, s.own_rms) for s in of]),
        statistics.median(s.rms for s in of),
        _range([s.used for s in of]),
        max((s.found for s in of), key=[str(name) for name in _WORST_LAST].index),
        {name: count for name, count in classes.items() if count},
    )


def _used(error: Deviation, own: Deviation, dtype: torch.dtype, terms: int) -> float:
    floor = rounding_floor(dtype, terms)
    return max(error.worst / allowed(floor, own.worst), error.rms / allowed(floor * RMS_SHARE, own.rms))


def _ratio(error: float, own: float) -> float:
    return error / own if own else (math.inf if error else 1.0)


def _range(ratios: Sequence[float]) -> tuple[float, float]:
    return min(ratios), max(ratios)


def table(rows: Sequence[Row]) -> str:
    names = ["dtype", "function", "rewrite", "kind", "own max", "own rms", "rms", "max/own", "rms/own", "used", "class"]
    head = f"| {' | '.join(names)} |"
    return "\n".join([head, "|" + " --- |" * len(names), *(r.line for r in rows)])


def machine(device: str) -> dict[str, str]:
    name = torch.cuda.get_device_name() if device == "cuda" else incremental.machine()["processor"]
    versions = {"torch": torch.__version__, "kernelwright": __version__}
    return {"date": datetime.now(UTC).date().isoformat(), "device": name, "system": platform.platform(), **versions}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", choices=("cpu", "cuda"))
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--out", type=Path, help=f"where the rows go, as JSON; {summary.KEPT}")
    options = parser.parse_args()
    found: dict[tuple[str, str, str], list[Sample]] = {}
    for dtype in SHORT:
        for family in FAMILIES:
            for sample in samples(family, dtype, options.device, options.seeds):
                found.setdefault((sample.dtype, sample.function, sample.rewrite), []).append(sample)
            print(f"{SHORT[dtype]} {family.name}: done")
    rows = [row(group) for group in found.values()]
    whole = {**machine(options.device), "seeds": options.seeds, "rows": [asdict(r) for r in rows]}
    summary.write("accuracy", whole, options.out or summary.RAW / f"accuracy-{options.device}.json")
    print(table(rows))


if __name__ == "__main__":
    main()
