"""Turns the hand-set constants of a Triton launch into `@triton.autotune`: the decorator, the grid, and what goes."""

import ast
from dataclasses import dataclass

from kernelwright.micro.rewrite.triton_constants import removals, replaced, unread_without
from kernelwright.micro.rewrite.triton_everywhere import each
from kernelwright.micro.rewrite.triton_launch import OPTIONS, Site
from kernelwright.micro.rewrite.triton_memory import size_parameters
from kernelwright.micro.rewrite.triton_protection import Protection, protection_of
from kernelwright.micro.rewrite.triton_setting import is_unpacking, unpacked_as_nothing, without_empty_unpacking
from kernelwright.micro.rewrite.triton_source import line_offset, names_in
from kernelwright.micro.rewrite.triton_space import Choice
from kernelwright.micro.rewrite.triton_tuned import (
    counts_for_grid,
    gone,
    mentions,
    names_tuned,
    other_use,
    passed_before_others,
    positional,
    set_with_others,
)
from kernelwright.source.bindings import bindings_of
from kernelwright.source.calls import constexprs, parameters
from kernelwright.source.trees import statements, walk
from kernelwright.source.triton.reader import decorators
from kernelwright.values import Refusal, TextEdit


@dataclass(frozen=True)
class Terms:
    """What the decorator says beside its configurations: the parameters to choose by, and those a repeated run spoils."""

    key: tuple[str, ...]
    protection: Protection


def terms_of(site: Site) -> Terms | Refusal:
    """What autotuning this launch takes, or why that cannot be done: all that is asked before anything is written."""
    obstacle = next((found for one in each(site) if (found := _obstacle(one)) is not None), None)
    if obstacle is not None:
        return obstacle
    key = _key(site)
    if isinstance(key, Refusal):
        return key
    protection = protection_of(each(site))
    return protection if isinstance(protection, Refusal) else Terms(key, protection)


def autotuned(site: Site, configs: tuple[Choice, ...], terms: Terms) -> str:
    """The text with the launch autotuned over `configs`."""
    at = line_offset(site.text, _above(site) - 1)
    indent = " " * site.definition.col_offset
    decorator = _decorator(site, configs, terms)
    edits = [TextEdit(at, at, "".join(f"{indent}{line}\n" for line in decorator))]
    for one in each(site):
        edits += _without_arguments(one)
        edits += _grid_edits(one)
        edits += _without_constants(one)
    return replaced(site.text, edits)


def _above(site: Site) -> int:
    """The line (from 1) of the first decorator that is Triton's own: those of others stay around what Triton makes."""
    found = list(decorators(site.definition, site.kernel.aliases))
    own = [node.lineno for name, node in found if name.startswith("triton.")]
    return min(own or [node.lineno for _, node in found])


def _decorator(site: Site, configs: tuple[Choice, ...], terms: Terms) -> list[str]:
    triton = site.kernel.aliases.spelled("triton")
    staged = any(config.get("num_stages", OPTIONS["num_stages"]) != OPTIONS["num_stages"] for config in configs)
    lines = [f"@{triton}.autotune(", "    configs=["]
    for config in configs:
        blocks = ", ".join(f'"{tile.name}": {config[tile.name]}' for tile in site.tiles)
        options = [f"num_warps={config['num_warps']}"] if "num_warps" in config else []
        options += [f"num_stages={config['num_stages']}"] if staged and "num_stages" in config else []
        lines.append(f"        {triton}.Config({', '.join(['{' + blocks + '}', *options])}),")
    lines += ["    ],", f"    key={_listed(terms.key)},"]
    protection = terms.protection
    if protection.reset_to_zero:
        lines.append(f"    reset_to_zero={_listed(protection.reset_to_zero)},")
    if protection.restore_value:
        lines.append(f"    restore_value={_listed(protection.restore_value)},")
    return [*lines, ")"]


def _listed(names: tuple[str, ...]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def _obstacle(site: Site) -> Refusal | None:
    if not site.definition.decorator_list:
        return Refusal("The kernel has no @triton.jit to put the decorator above.", line=site.definition.lineno - 1)
    if site.kernel.aliases.spelled("triton") is None:
        return Refusal("The file does not import triton as a module, so @triton.autotune cannot be written.")
    for option in OPTIONS:
        if option in site.fixed:
            return Refusal(f"{site.fixed[option]}, so configs cannot choose it.", line=site.call.lineno - 1)
    for reason in site.fixed.values():
        if "own copy" in reason:
            return Refusal(f"{reason[0].upper()}{reason[1:]}.", line=site.call.lineno - 1)
    for constant in site.options:
        if constant.home in ("dictionary", "settings"):
            how = "comes from settings" if constant.home == "settings" else "comes to the launch by **"
            return Refusal(f"{constant.name} {how} (line {constant.line + 1}): pass it by name.", line=constant.line)
        if constant.home == "parameter":
            return Refusal(
                f"{constant.variable} is a parameter of the launcher, which callers may set.", line=constant.line
            )
        if words := set_with_others(site, constant) or passed_before_others(site, constant):
            return Refusal(f"{words}.", line=constant.line)
    return _computed_obstacle(site)


def _computed_obstacle(site: Site) -> Refusal | None:
    """A name that would no longer be read, and that cannot be taken away."""
    for name in unread_without(site, site.options):
        if removals(site, name) is None:
            line = next(one.value.lineno for one in bindings_of(site.function) if one.name == name)
            return Refusal(
                f"{name} is set along with other things (line {line}) and read by nothing else.", line=line - 1
            )
    return None


def _key(site: Site) -> tuple[str, ...] | Refusal:
    tuned = names_tuned(site)
    known = set(site.bound).intersection(*(twin.bound for twin in site.twins))
    key = tuple(name for name in size_parameters(site.kernel.reading) if name not in tuned and name in known)
    if key:
        return key
    blocks = set(constexprs(site.definition)) - tuned
    whole = tuple(name for name in blocks if name in site.fixed and name in known)
    if whole:
        return tuple(sorted(whole))
    return Refusal(
        "No parameter bounds a mask, a loop or the programs, so there is no size to choose a config by.",
        line=site.definition.lineno - 1,
    )


def _without_arguments(site: Site) -> list[TextEdit]:
    """Drops the tuned arguments, each with the comma before it."""
    call, launcher = site.call, site.launcher
    names = positional(site)
    arguments: list[tuple[str | None, ast.expr | ast.keyword]] = [
        *zip(names, call.args, strict=True),
        *((k.arg, k) for k in call.keywords),
    ]
    arguments.sort(key=lambda pair: launcher.span(pair[1])[0])
    edits: list[TextEdit] = []
    previous_end = None
    for index, (name, node) in enumerate(arguments):
        start, end = launcher.span(node)
        if name in names_tuned(site):
            if previous_end is not None:
                edits.append(TextEdit(previous_end, end, ""))
            else:
                following = launcher.span(arguments[index + 1][1])[0] if index + 1 < len(arguments) else end
                edits.append(TextEdit(start, following, ""))
                continue
        previous_end = end
    return edits


def _grid_replacements(site: Site, meta: str) -> list[TextEdit]:
    """`meta["BLOCK"]` for every mention of a block size, by variable or as a literal copy; counts of blocks are written out."""
    grid_start, grid_end = _grid_span(site)
    edits: list[TextEdit] = []
    for tile in site.tiles:
        new = f'{meta}["{tile.name}"]'
        edits += [TextEdit(s, e, new) for s, e in tile.spans if grid_start <= s and e <= grid_end]
    edits += [TextEdit(*site.launcher.span(node), f'{meta}["{name}"]') for node, name in mentions(site, site.grid)]
    counts = counts_for_grid(site)
    for node in walk(site.grid):
        if isinstance(node, ast.Name) and node.id in counts:
            value = counts[node.id].value
            start, end = site.launcher.span(value)
            inner = [TextEdit(*site.launcher.span(part), f'{meta}["{name}"]') for part, name in mentions(site, value)]
            written = _after_edits(site.text, start, end, inner)
            edits.append(
                TextEdit(*site.launcher.span(node), written if isinstance(value, ast.Call) else f"({written})")
            )
    return edits


def _grid_span(site: Site) -> tuple[int, int]:
    return site.launcher.span(site.grid)


def _grid_edits(site: Site) -> list[TextEdit]:
    grid = site.grid
    if isinstance(grid, ast.Lambda | ast.FunctionDef) and parameters(grid):
        return _grid_replacements(site, parameters(grid)[0].arg)
    replacements = _grid_replacements(site, "meta")
    if not replacements:
        return []
    start, end = _grid_span(site)
    bare = isinstance(grid, ast.Tuple) and site.launcher.span(grid.elts[0])[0] == start
    before, after = ("lambda meta: (", ")") if bare else ("lambda meta: ", "")
    if site.grid_statement is not None or "grid" in names_in(site.function):
        edits = [*replacements, TextEdit(start, start, before)]
        return [*edits, TextEdit(end, end, after)] if after else edits
    written = before + _after_edits(site.text, start, end, replacements) + after
    statement = next(
        s
        for s in statements(site.function.body)
        if isinstance(s, ast.Expr | ast.Assign) and s.lineno <= site.call.lineno <= (s.end_lineno or 0)
    )
    at = site.launcher.span(statement)[0]
    indent = " " * statement.col_offset
    return [TextEdit(at, at, f"grid = {written}\n{indent}"), TextEdit(start, end, "grid")]


def _after_edits(text: str, start: int, end: int, edits: list[TextEdit]) -> str:
    moved = [TextEdit(edit.start - start, edit.end - start, edit.new_text) for edit in edits]
    return replaced(text[start:end], moved)


def _without_constants(site: Site) -> list[TextEdit]:
    """Drops the lines that set the tuned variables, but for an option's that is read elsewhere, as by another launch."""
    lines = {(one.lineno - 1, one.end_lineno or one.lineno) for one in gone(site)}
    for constant in (*site.tiles, *site.options):
        if constant.home == "module" and other_use(site, constant) is None:
            lines.add((constant.line, constant.line + 1))
    spans = ((line_offset(site.text, start), line_offset(site.text, end)) for start, end in sorted(lines))
    unread = [edit for name in unread_without(site, site.options) for edit in removals(site, name) or ()]
    for tile in site.tiles:
        if tile.home == "local" and tile.value is None:
            settings = (one for one in statements(site.function.body) if is_unpacking(one))
            unread += [edit for one in settings for edit in unpacked_as_nothing(site.launcher, one, tile.variable)]
    edits = [*unread, *(TextEdit(start, end, "") for start, end in spans)]
    return without_empty_unpacking(site.launcher, site.function, edits)
