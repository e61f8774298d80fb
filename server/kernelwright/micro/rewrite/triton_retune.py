"""Mends an autotuner: configurations that its list lacks for a device, those that cannot run, and its key."""

import ast
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

from kernelwright.micro.rewrite.triton_constants import replaced
from kernelwright.micro.rewrite.triton_launch import OPTIONS, Constant, Site, launch_site
from kernelwright.micro.rewrite.triton_memory import size_parameters
from kernelwright.micro.rewrite.triton_source import names_read
from kernelwright.micro.rewrite.triton_space import Choice, choices, diverse, has_loop, matmul_tiles
from kernelwright.micro.rewrite.triton_tuner import Config, Tuner
from kernelwright.schedule.limits import MOST_IN_A_BLOCK, MOST_WARPS, shared_limit
from kernelwright.source.calls import constexprs, defaults, parameters
from kernelwright.source.document import parse
from kernelwright.source.findings import find_findings
from kernelwright.source.findings.rules.triton_autotune_retunes import LENGTH
from kernelwright.source.trees import walk
from kernelwright.source.triton.masks import unmasked
from kernelwright.source.triton.reader import decorators
from kernelwright.values import Device, Kernel, Refusal, TextEdit, Workload

MOST_ADDED = 7
_CALLS = re.compile(r"len|tok|batch|pos|step|^m$", re.IGNORECASE)
"""Sizes that a key may well lack on purpose, since they differ from call to call."""

_LONGEST_LIST = 32
"""Configurations beyond which more would only make the first call slower."""


@dataclass(frozen=True)
class Mended:
    """What is changed. `words`: the parameters that an added configuration sets, with what it says where it does not choose."""

    added: tuple[Choice, ...] = ()
    words: tuple[tuple[str, str], ...] = ()
    options: tuple[str, ...] = ()
    others: tuple[str, ...] = ()
    dropped: tuple[tuple[Config, str], ...] = ()  # with why
    key: tuple[str, ...] | None = None  # the new one
    why_nothing: str = ""  # why no configuration can be added; empty where none is lacking

    @property
    def is_nothing(self) -> bool:
        return not self.added and not self.dropped and self.key is None


def mended(tuner: Tuner, text: str, kernel: Kernel, workload: Workload | None, device: Device) -> Mended:
    """What the autotuner lacks, holds in vain, and what its key should be. Without a GPU nothing is added."""
    key = _key(tuner, text, kernel)
    site = _space(tuner, text, kernel)
    if isinstance(site, Refusal):
        return Mended(dropped=_useless(tuner, None, device), key=key, why_nothing=site.reason)
    dropped = _useless(tuner, site, device)
    if not device.is_gpu:
        return Mended(dropped=dropped, key=key)
    kept = [config for config in tuner.listed or () if config not in [one for one, _ in dropped]]
    added = _lacking(tuner, site, kept, workload, device) if len(kept) < _LONGEST_LIST else ()
    first = (tuner.listed or (None,))[0]
    words = tuple(first.words.items()) if first is not None else tuple((tile.name, "") for tile in site.tiles)
    why = f"its list has {len(kept)} already" if len(kept) >= _LONGEST_LIST else ""
    others = _shared(tuner.listed) if tuner.listed else ()
    return Mended(added, words, _options(site), others or (), dropped, key, why)


def retuned(tuner: Tuner, change: Mended) -> str:
    """The text with the autotuner mended."""
    edits = [*_list_edits(tuner, change)]
    if change.key is not None and tuner.key is not None:
        edits.append(TextEdit(*tuner.kernel.span(tuner.key), f"[{', '.join(change.key)}]"))
    return replaced(tuner.kernel.text, edits)


def _space(tuner: Tuner, text: str, kernel: Kernel) -> Site | Refusal:
    """The autotuner as a launch whose constants are the block sizes that may vary, one without masks at its largest value."""
    fragment, reading = tuner.kernel, tuner.kernel.reading
    launched = launch_site(text, kernel)
    if tuner.listed is None:
        names = _left_to_the_tuner(tuner, launched)
        if isinstance(names, Refusal):
            return names
        listed: tuple[Config, ...] = ()
    else:
        names = tuple(tuner.listed[0].words)
        listed = tuner.listed
        if any(set(one.words) != set(names) for one in listed) or _shared(listed) is None:
            return Refusal("the configurations do not set the same arguments")
    bounded = {name for call in reading.calls if call[0] == "static_assert" for name in names_read(call[1])}
    open_ = unmasked(reading)
    tiles: list[Constant] = []
    for name in names:
        values = sorted({one.numbers[name] for one in listed if name in one.numbers})
        if name not in reading.block_sizes or name in bounded:
            continue
        followed = name in reading.steps or _grid_asks_for(launched, name)
        if followed or (len(values) > 1 and name in reading.shares):
            tiles.append(Constant(name, values[-1] if values and name in open_ else None, "config"))
    if tuner.listed is None:
        stray = next((name for name in names if name not in {tile.name for tile in tiles} or name in open_), None)
        if stray is not None:
            return Refusal(f"the configurations stand in another file, and what {stray} may be cannot be told")
    if listed and not _can_be_repeated(tuner, listed[0]):
        return Refusal(f"the configurations take what they are made of from around line {tuner.configs.lineno}")
    options = tuple(Constant(name, value, "config") for name, value in OPTIONS.items())
    function = fragment.function
    return Site(text, fragment, fragment, function, tuner.call, tuner.call, None, {}, tuple(tiles), options, {})


def _shared(listed: tuple[Config, ...]) -> tuple[str, ...] | None:
    """The further arguments that all configurations have; None where others say more than a number, such as maxnreg=128."""
    shared = tuple(one for one in listed[0].others if all(one in config.others for config in listed))
    rest = (other for config in listed for other in config.others if other not in shared)
    return shared if all(re.fullmatch(r"\w+=(\d+|None)", other) for other in rest) else None


def _can_be_repeated(tuner: Tuner, config: Config) -> bool:
    """Whether what is no block size can be written in the decorator, too: it stands there, or is a literal."""
    if isinstance(tuner.configs, ast.List | ast.ListComp):
        return True
    values = [ast.parse(value, mode="eval").body for value in config.words.values()]
    return not config.others and all(isinstance(value, ast.Constant) for value in values)


def _left_to_the_tuner(tuner: Tuner, launched: Site | Refusal) -> tuple[str, ...] | Refusal:
    """The compile-time parameters that neither the launch nor a default nor heuristics give."""
    if isinstance(launched, Refusal):
        return Refusal("the configurations stand in another file, and what the launch leaves to them cannot be told")
    function = tuner.kernel.function
    starred = [arg.value for arg in launched.call.args if isinstance(arg, ast.Starred)]
    if not all(map(_is_strides, starred)) or any(k.arg is None for k in launched.call.keywords):
        return Refusal("the configurations stand in another file, and what the launch leaves to them cannot be told")
    given = {*launched.bound, *(name for name, _ in defaults(function))}
    for name, node in decorators(function, tuner.kernel.aliases):
        if name == "triton.heuristics":
            values = node.args[0] if isinstance(node, ast.Call) and node.args else node
            keys = values.keys if isinstance(values, ast.Dict) else [None]
            if not all(isinstance(key, ast.Constant) for key in keys):
                return Refusal("the configurations and heuristics stand in another file")
            given |= {str(key.value) for key in keys if isinstance(key, ast.Constant)}
    return tuple(name for name in constexprs(function) if name not in given)


def _is_strides(value: ast.expr) -> bool:
    """Whether it is `x.stride()`, which gives no block size."""
    match value:
        case ast.Call(func=ast.Attribute(attr="stride"), args=[], keywords=[]):
            return True
        case ast.IfExp(body=one, orelse=ast.Tuple(elts=parts)):
            return _is_strides(one) and all(isinstance(part, ast.Constant) for part in parts)
    return False


def _grid_asks_for(launched: Site | Refusal, name: str) -> bool:
    return isinstance(launched, Site) and any(
        isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and node.slice.value == name
        for node in walk(launched.grid)
    )


def _lacking(
    tuner: Tuner, site: Site, kept: list[Config], workload: Workload | None, device: Device
) -> tuple[Choice, ...]:
    """Those of the best guesses that no configuration has. The guesses do not depend on the list: nothing is added twice."""
    tuned = [tile.name for tile in site.tiles]
    named = (*tuned, *_options(site))
    present = {tuple(one.numbers.get(name) for name in named) for one in kept}
    wanted = (
        {**OPTIONS, **one} for one in diverse(site, choices(site, workload, device.compute_capability), MOST_ADDED)
    )
    found: list[Choice] = []
    for one in wanted:
        values = tuple(one[name] for name in named)
        if values not in present:
            present.add(values)
            found.append(one)
    return tuple(found)


def _options(site: Site) -> tuple[str, ...]:
    """The options that change anything: stages do in loops alone."""
    return tuple(OPTIONS) if has_loop(site) else ("num_warps",)


def _useless(tuner: Tuner, site: Site | None, device: Device) -> tuple[tuple[Config, str], ...]:
    """The configurations of the decorator's own list that stand there twice or run on no such device."""
    seen: list[Config] = []
    found: list[tuple[Config, str]] = []
    for config in tuner.listed or ():
        same = any(
            (one.numbers, one.words, one.others) == (config.numbers, config.words, config.others) for one in seen
        )
        why = "stands there twice" if same else _impossible(tuner, site, config, device)
        if config.node is not None and why:
            found.append((config, why))
        else:
            seen.append(config)
    return tuple(found) if seen else ()


def _impossible(tuner: Tuner, site: Site | None, config: Config, device: Device) -> str:
    """Why Triton cannot compile or start a configuration; only what holds for elements of half a byte counts."""
    lanes = [(name, config.numbers[name]) for name in tuner.kernel.reading.block_sizes if name in config.numbers]
    for name, number in lanes:
        if number < 1 or number & (number - 1):
            return f"{name}={number} is no power of two"
        if number > MOST_IN_A_BLOCK:
            return f"{name}={number} is more than Triton takes"
    warps = config.numbers["num_warps"]
    if warps < 1 or warps & (warps - 1) or warps > MOST_WARPS:
        return f"num_warps={warps} is no power of two up to {MOST_WARPS}"
    sides = matmul_tiles(site) if site is not None and device.is_gpu else None
    if sides is not None and all(name in config.numbers for name in sides):
        m, n, k = (config.numbers[name] for name in sides)
        if (m + n) * k // 2 * max(config.numbers["num_stages"] - 1, 1) > shared_limit(device.compute_capability):
            return "it needs more shared memory than a block has"
    return ""


def _key(tuner: Tuner, text: str, kernel: Kernel) -> tuple[str, ...] | None:
    """The elements of a better key: without what the best configuration does not depend on, and with sizes that it does."""
    if tuner.key is None or not all(isinstance(one, ast.Constant) for one in tuner.key.elts):
        return None
    if tuner.kernel.called(tuner.call) != "triton.autotune":
        return None  # another decorator's key may mean more, such as how each of its names is rounded
    source = {str(one.value): tuner.kernel.source(one) for one in tuner.key.elts if isinstance(one, ast.Constant)}
    needless = _needless(text, kernel)
    own = {p.arg for p in parameters(tuner.kernel.function)}
    tuned = tuner.names or frozenset(constexprs(tuner.kernel.function))
    kept = [name for name in source if name not in needless]
    if set(kept) & own:
        missing = [name for name in _looped_over(tuner, tuned) if name not in kept]
    else:
        missing = [name for name in size_parameters(tuner.kernel.reading) if name not in tuned]
    quote = next((words[0] for words in source.values()), '"')
    new = (*(source[name] for name in kept), *(f"{quote}{name}{quote}" for name in missing))
    return new if new and new != tuple(source.values()) else None


def _looped_over(tuner: Tuner, tuned: frozenset[str]) -> Iterator[str]:
    """The sizes that loops run over in steps of a tuned block size, without those that nearly every call changes."""
    bounds = [names_read(loop.node.iter) for loop in tuner.kernel.reading.loops]
    names = frozenset[str]().union(*(found for found in bounds if found & tuned))
    for parameter in parameters(tuner.kernel.function):
        if parameter.arg in names - tuned and not LENGTH.search(parameter.arg) and not _CALLS.search(parameter.arg):
            yield parameter.arg


def _needless(text: str, kernel: Kernel) -> set[str]:
    """The names in the key that the finding says to leave out."""
    found = find_findings(parse(text), (kernel,), lines=range(kernel.start_line, kernel.end_line))
    own = [one for one in found if one.code == "triton.autotune-retunes" and one.kernel == kernel.name]
    named = [(text[one.start : one.end].strip("\"'"), one.fix) for one in own]
    return {name for name, fix in named if fix is not None or not LENGTH.search(name)}


def _list_edits(tuner: Tuner, change: Mended) -> Iterator[TextEdit]:
    kernel, configs = tuner.kernel, tuner.configs
    start, end = kernel.span(configs)
    new = [_config(tuner, change, choice) for choice in change.added]
    dropped = {id(config.node) for config, _ in change.dropped}
    elements = configs.elts if isinstance(configs, ast.List) else []
    kept = [element for element in elements if id(element) not in dropped]
    if new and (not kept or "\n" not in kernel.text[start:end]):
        lead = _lead(kernel.text, start)
        whole = kernel.text[start:end].replace("\n", "\n    ")
        old = [kernel.source(element) for element in kept] if elements else [f"*{whole}"]
        yield TextEdit(start, end, "[\n" + "".join(f"{lead}    {item},\n" for item in (*old, *new)) + f"{lead}]")
        return
    for element, following in itertools.zip_longest(elements, elements[1:]):
        if id(element) in dropped:
            yield _without(kernel.text, kernel.span(element), kernel.span(following)[0] if following else None, end)
    if new:
        yield from _appended(kernel.text, kernel.span(kept[-1]), end - 1, new)


def _lead(text: str, at: int) -> str:
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _without(text: str, span: tuple[int, int], following: int | None, end: int) -> TextEdit:
    """Takes an element away with its comma, and with its lines where it has them for itself."""
    start, stop = span
    comma = text.find(",", stop, following or end)
    stop = comma + 1 if comma >= 0 else stop
    line_start, line_end = text.rfind("\n", 0, start) + 1, text.find("\n", stop) + 1
    if not text[line_start:start].strip() and not text[stop:line_end].strip():
        return TextEdit(line_start, line_end, "")
    return TextEdit(start, following if following is not None else stop, "")


def _appended(text: str, last: tuple[int, int], close: int, new: list[str]) -> Iterator[TextEdit]:
    """Elements after the last one, each on a line of its own."""
    start, end = last
    line_start = text.rfind("\n", 0, start) + 1
    alone = not text[line_start:start].strip()
    lead = text[line_start:start] if alone else _lead(text, start) + "    "
    comma = text.find(",", end, close)
    line_end = text.find("\n", end, close)
    missing = "," if comma < 0 or text[end:comma].strip() else ""
    at, tail = (close, "") if line_end < 0 else (line_end, ",")  # the bracket may stand behind the last element
    if missing and at > end:
        yield TextEdit(end, end, missing)
        missing = ""
    yield TextEdit(at, at, missing + ",".join(f"\n{lead}{item}" for item in new) + tail)


def _config(tuner: Tuner, change: Mended, choice: Choice) -> str:
    """One more configuration, written as the list's own are."""
    first_key = re.search(r"[{,]\s*(['\"])\w+\1\s*:", tuner.kernel.source(tuner.configs))
    quote = first_key[1] if first_key is not None else '"'
    entries = ", ".join(f"{quote}{name}{quote}: {choice.get(name, words)}" for name, words in change.words)
    options = [f"{name}={choice[name]}" for name in change.options]
    spelled = (
        tuner.listed[0].spelled if tuner.listed else f"{tuner.kernel.aliases.spelled('triton') or 'triton'}.Config"
    )
    return f"{spelled}({', '.join(['{' + entries + '}', *options, *change.others])})"
