"""What is already known, on disk, so that a run which was ended can go on: one JSON line for each graded mutant."""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kernelwright
from kernelwright import wire

_GATE = (
    "proof",
    "values",
    "wire.py",
    "source/workload",
    "source/cpp",
    "source/interface.py",
)  # whatever can change a verdict
_SOURCES = (".py", ".cpp", ".h")


@dataclass(frozen=True)
class Store:
    """Lines of one gate and one kind of trial: those of another `key` in the file are left alone and not read."""

    path: Path
    key: str

    def read(self, kind: type) -> list[Any]:
        """The values of this class that were written under the key."""
        if not self.path.exists():
            return []
        lines = [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines() if line.endswith("}")]
        named = [line["value"] for line in lines if line["key"] == self.key and line["value"]["$"] == kind.__name__]
        return [wire.decode(kind, value) for value in named]

    def add(self, value: object) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": self.key, "value": wire.encode(value)}) + "\n")


def gate_digest() -> str:
    """A short name of the gate's source as it stands."""
    root = Path(kernelwright.__file__).parent
    parts = [root / part for part in _GATE]
    files = [file for part in parts for file in (sorted(part.rglob("*")) if part.is_dir() else [part])]
    return _digest(root, [file for file in files if file.suffix in _SOURCES])


def probe_digest() -> str:
    """A short name of the probe's source as it stands."""
    root = Path(__file__).parent
    return _digest(root, sorted(root.rglob("probe*.py")))


def _digest(root: Path, files: list[Path]) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:12]
