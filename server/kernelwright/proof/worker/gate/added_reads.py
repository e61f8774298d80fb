"""What a text reads about where it runs, which a kernel has no use for, as far as the text shows it. Pure."""

import ast
import re

from kernelwright.proof.worker.texts import names_in, parsed

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
    tree = parsed(text)
    nodes = list(ast.walk(tree))
    docstrings = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    strings = [n.value for n in nodes if isinstance(n, ast.Constant) and id(n) not in docstrings]
    named = [*names_in(tree), *(value for value in strings if isinstance(value, str))]
    return tuple(words for words, pattern in _READS if any(re.search(pattern, name) for name in named))
