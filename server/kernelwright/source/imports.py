"""What the names of a file mean: canonical dotted names for triton, triton.language, torch and whatever else is imported."""

import functools
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from tree_sitter import Node

from kernelwright.source.document import Document
from kernelwright.source.memory import PerPiece
from kernelwright.source.split import split
from kernelwright.values import encoded

_IMPORT = re.compile(
    rb"^[ \t]*(?:import|from)\b(?:[^\n(\\]|\\\r?\n)*(?:\((?:#[^\n]*\n|[\w\s,])*\))?[^\n]*", re.MULTILINE
)
_REBINDING = re.compile(rb"^(\w+)[ \t]*=[ \t]*([A-Za-z_][\w.]*\.\w+)[ \t]*(?:#.*)?\r?$", re.MULTILINE)
_TRITON = re.compile(rb"[ \t]*(?:from[ \t]+triton\b|import\b[^\n#]*\btriton\b)")
_DOTTED = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_SPACE = re.compile(r"\s+|\\\n")

# Modules that only re-export: one spelling for each function.
_SAME = (
    ("triton.language.math.", "triton.language."),
    ("triton.language.standard.", "triton.language."),
    ("triton.language.core.", "triton.language."),
    ("triton.runtime.jit.", "triton."),
    ("triton.runtime.autotuner.", "triton."),
    ("triton.runtime.", "triton."),
    ("torch._tensor.", "torch."),
    ("torch.nn.modules.module.", "torch.nn."),
)


@dataclass(frozen=True)
class Aliases:
    """Which dotted name each imported name stands for: {"tl": "triton.language", "jit": "triton.jit"}.

    Imports inside functions count for the whole file. A name that no import binds is not in `names`.
    """

    names: Mapping[str, str] = field(default_factory=dict)

    @functools.cached_property
    def _hash(self) -> int:
        return hash(frozenset(self.names.items()))

    def canonical(self, name: str) -> str | None:
        """The canonical form of a dotted name as written ("tl.math.exp" is "triton.language.exp"), None if not imported."""
        root, dot, rest = name.partition(".")
        known = self.names.get(root)
        return None if known is None else _same(known + dot + rest)

    def spelled(self, name: str) -> str | None:
        """How the file writes this canonical name ("tl" for "triton.language"), None where it does not import it."""
        return next((written for written, meaning in self.names.items() if meaning == name), None)

    def __hash__(self) -> int:
        return self._hash


def aliases_of(document: Document) -> Aliases:
    """The names that the file's imports bind; a plain rebinding at top level (`exp = tl.exp`) is followed too."""
    return aliases_in(document.source)


@functools.lru_cache(maxsize=16)
def aliases_in(source: bytes) -> Aliases:
    """As `aliases_of`, from the text alone in utf-8."""
    found = [*filter(None, _written_in(split(source)))]
    imports = tuple(statement for one in found for statement in one.imports)
    return _aliases(imports, tuple(pair for one in found for pair in one.rebindings))


def imports_triton(text: str) -> bool:
    """Whether one of the file's import statements names Triton."""
    found = filter(None, _written_in(split(encoded(text))))
    return any(_TRITON.match(statement) for one in found for statement in one.imports)


class _Written(NamedTuple):
    """The import statements of a piece, and its plain rebindings at top level."""

    imports: tuple[bytes, ...]
    rebindings: tuple[tuple[bytes, bytes], ...]


def _written(piece: bytes) -> _Written | None:
    imports = tuple(match.group() for match in _IMPORT.finditer(piece))
    rebindings = tuple((match[1], match[2]) for match in _REBINDING.finditer(piece))
    return _Written(imports, rebindings) if imports or rebindings else None


_written_in = PerPiece(_written)


def dotted(document: Document, node: Node, aliases: Aliases) -> str | None:
    """The canonical name of an identifier or attribute ("triton.language.load"), None for anything not imported."""
    if node.type not in ("identifier", "attribute"):
        return None
    text = document.content(node)
    if not _DOTTED.fullmatch(text):
        text = _SPACE.sub("", text)
        if not _DOTTED.fullmatch(text):
            return None
    return aliases.canonical(text)


@functools.lru_cache(maxsize=4096)
def _same(name: str) -> str:
    for prefix, replacement in _SAME:
        if name.startswith(prefix):
            return replacement + name[len(prefix) :]
    return name


@functools.lru_cache(maxsize=64)
def _aliases(statements: tuple[bytes, ...], rebindings: tuple[tuple[bytes, bytes], ...]) -> Aliases:
    names: dict[str, str] = {}
    for statement in statements:
        names.update(_bindings(statement.decode("utf-8", "replace")))
    for name, value in rebindings:
        known = Aliases(names).canonical(value.decode("utf-8", "replace"))
        if known is not None and known.startswith(("triton.", "torch.")):
            names.setdefault(name.decode("utf-8", "replace"), known)
    return Aliases(names)


def _bindings(statement: str) -> dict[str, str]:
    """What one import statement binds, read by hand so that a half-typed one still gives its whole names."""
    text = (
        re.sub(r"#.*", "", statement)
        .replace("\\\r\n", " ")
        .replace("\\\n", " ")
        .replace("(", " ")
        .replace(")", " ")
        .strip()
        .rstrip(";")
    )
    words = text.split(None, 1)
    if len(words) < 2:
        return {}
    if words[0] == "import":
        return _plain(words[1])
    module, _, imported = words[1].partition(" import ")
    module = module.strip()
    pairs = (_pair(item) for item in imported.replace("\n", " ").split(","))
    return {bound: _exported(module, name) for name, bound in pairs if name.isidentifier() and bound.isidentifier()}


def _exported(module: str, name: str) -> str:
    """Say what `from module import name` means; `package.triton_utils` and the like pass Triton on."""
    if "triton" in module and not module.startswith("triton"):
        return {"tl": "triton.language", "triton": "triton"}.get(name, f"{module}.{name}")
    return f"{module}.{name}"


def _plain(modules: str) -> dict[str, str]:
    bound: dict[str, str] = {}
    for item in modules.split(","):
        module, name = _pair(item)
        if not _DOTTED.fullmatch(module):
            continue
        if name != module:
            bound[name] = module
        else:
            root = module.partition(".")[0]
            bound.setdefault(root, root)
    return bound


def _pair(item: str) -> tuple[str, str]:
    """("numpy", "np") for "numpy as np"."""
    name, _, bound = " ".join(item.split()).partition(" as ")
    return name.strip(), (bound or name).strip()
