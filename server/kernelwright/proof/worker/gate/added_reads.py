"""What a text reads about where it runs, which a kernel has no use for, as far as the text shows it. Pure."""

import ast
import re
from collections.abc import Iterator

_READS = (
    ("reads its own path", r"__file__|__spec__|co_filename|sys\.argv|inspect\.(getfile|getsource\w*|getmodule)"),
    (
        "reads its callers",
        r"sys\._getframe|sys\._current_frames|inspect\.(stack|currentframe)|traceback\.\w*(stack|tb)",
    ),
    ("reads which modules are loaded", r"sys\.(modules|meta_path)|gc\.get_(objects|referrers)"),
    ("reads the state of its process", r"/proc/\w+|os\.getppid|\bprctl"),
    (
        "reads the date",
        r"datetime\.(now|today|utcnow)|date\.today|\btime\.(time|time_ns|localtime|gmtime|ctime|strftime)$",
    ),
)


def added_reads(candidate: str, baseline: str) -> tuple[str, ...]:
    """What the candidate reads and the baseline does not, in words; a text that cannot be parsed reads nothing."""
    known = set(_reads(baseline))
    return tuple(words for words in _reads(candidate) if words not in known)


def _reads(text: str) -> tuple[str, ...]:
    try:
        named = list(_named(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(words for words, pattern in _READS if any(re.search(pattern, name) for name in named))


def _named(tree: ast.Module) -> Iterator[str]:
    """Dotted names with the modules that they begin with, imported names, and strings but for docstrings."""
    nodes = list(ast.walk(tree))
    imports = [(node, each) for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for each in node.names]
    aliases = {each.asname: each.name for node, each in imports if isinstance(node, ast.Import) and each.asname}
    yield from (f"{node.module}.{each.name}" for node, each in imports if isinstance(node, ast.ImportFrom))
    said = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        match node:
            case ast.Constant(value=str(value)) if id(node) not in said:
                yield value
            case ast.Name(id=name):
                yield name
            case ast.Attribute(value=ast.Name(id=owner), attr=name):
                yield f"{aliases.get(owner, owner)}.{name}"
            case ast.Attribute(attr=name):
                yield f"{ast.unparse(node.value)}.{name}" if isinstance(node.value, ast.Attribute) else name
