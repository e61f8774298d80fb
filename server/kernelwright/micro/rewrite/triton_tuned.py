"""Which block sizes of a Triton launch an autotuner can choose, and what in the launcher serves those alone."""

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from kernelwright.micro.rewrite.triton_everywhere import each, narrowed
from kernelwright.micro.rewrite.triton_grid import counts_in
from kernelwright.micro.rewrite.triton_launch import Constant, Site
from kernelwright.micro.rewrite.triton_passed import tail_of
from kernelwright.micro.rewrite.triton_setting import is_unpacking, set_only
from kernelwright.micro.rewrite.triton_source import names_read
from kernelwright.source.bindings import bindings_of
from kernelwright.source.calls import parameters
from kernelwright.source.trees import statements, walk


def tunable(site: Site) -> Site:
    """The launch with those block sizes free that configurations can choose: the others stay as they are."""
    while stay := {tile.name: words for one in each(site) for tile in one.tiles if (words := _why_it_stays(one, tile))}:
        left = {tile.name for tile in site.tiles} - stay.keys()
        site = replace(narrowed(site, left), fixed={**site.fixed, **stay})
    return site


def _why_it_stays(site: Site, tile: Constant) -> str:
    """Words for why the launcher has to go on setting a block size; empty where it need not."""
    if tile.home == "dictionary":
        return f"{tile.name} comes to the launch by ** (line {tile.line + 1})"
    if tile.home == "settings":
        return f"{tile.name} comes from settings (line {tile.line + 1})"
    if tile.home == "parameter":
        return f"{tile.variable} is a parameter of the launcher, which callers may set"
    use = other_use(site, tile)
    if use is not None:
        return f"{tile.variable} is also used on line {use.lineno}"
    served = _served(site, tile.variable)
    if tile.variable in names_read(site.grid) and len(served) > 1 and meant(site, tile.variable) is None:
        return f"{tile.variable} serves {' and '.join(served)}, so the grid cannot tell which of them it means"
    if site.grid_statement is not None and _grid_uses(site) > 1 and _is_in_grid(site, tile):
        return f"the grid is used for more than this launch (line {site.grid_statement.lineno})"
    return set_with_others(site, tile) or passed_before_others(site, tile)


def names_tuned(site: Site) -> set[str]:
    """The constants that configurations choose."""
    return {constant.name for constant in (*site.tiles, *site.options)}


def positional(site: Site) -> list[str | None]:
    """The parameter of each positional argument; None from the first star on, where what follows could not be told."""
    names = [p.arg for p in parameters(site.definition)]
    plain = next((i for i, arg in enumerate(site.call.args) if isinstance(arg, ast.Starred)), len(site.call.args))
    tail = tail_of(site.definition, site.call)
    return [*names[:plain], *[None] * (len(site.call.args) - plain - len(tail)), *tail]


def passed_before_others(site: Site, constant: Constant) -> str:
    """Words for a constant that is passed by position before what stays: arguments can only be dropped from the end."""
    names = positional(site)
    behind = names[names.index(constant.name) :] if constant.name in names else []
    if all(name in names_tuned(site) for name in behind):
        return ""
    return f"{constant.name} is passed by position before other arguments; pass it by name"


def set_with_others(site: Site, constant: Constant) -> str:
    """Words for a constant whose variable a statement sets together with what stays."""
    variables = _variables(site)
    for statement in statements(site.function.body):
        targets = _targets(statement)
        unpacked = constant.value is None and is_unpacking(statement)
        if constant.variable in targets & variables and not targets <= variables and not unpacked:
            return f"line {statement.lineno} sets {constant.variable} together with other names"
    return ""


def meant(site: Site, variable: str) -> str | None:
    """The block size that a variable stands for in the grid: where it serves several, the one that programs share out."""
    served = _served(site, variable)
    shared = [name for name in served if name in site.kernel.reading.shares]
    return served[0] if len(served) == 1 else shared[0] if len(shared) == 1 else None


def _served(site: Site, variable: str) -> list[str]:
    return [tile.name for tile in site.tiles if variable and tile.variable == variable]


def mentions(site: Site, part: ast.AST) -> Iterator[tuple[ast.Name, str]]:
    """The names in a part of the launcher that stand for block sizes that are chosen, with those."""
    for node in walk(part):
        if isinstance(node, ast.Name) and (name := meant(site, node.id)) is not None:
            yield node, name


def counts_for_grid(site: Site) -> Mapping[str, ast.Assign]:
    """The numbers of blocks that serve the grid alone and follow a chosen block size: it can say itself what they are."""
    reads = Counter(n.id for n in walk(site.function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
    own = Counter(n.id for n in walk(site.grid) if isinstance(n, ast.Name))
    given = Counter(one.name for one in bindings_of(site.function))
    fixed = {name for name in given if given[name] > 1 and not _served(site, name)}
    return {
        name: node
        for name, node in counts_in(site.launcher, site.function, site.grid).items()
        if reads[name] == own[name]
        and node in site.function.body
        and list(mentions(site, node.value))
        and not names_read(node.value) & fixed
    }


def gone(site: Site) -> tuple[ast.stmt, ...]:
    """The statements that only set what is chosen or written out."""
    constants = [one for one in site.options if one.home == "local" and other_use(site, one) is None]
    variables = {one.variable for one in (*site.tiles, *constants) if one.home == "local"}
    return (*_setting(site, variables), *counts_for_grid(site).values())


def _setting(site: Site, variables: set[str]) -> list[ast.stmt]:
    single = [one for variable in sorted(variables) for one in set_only(site.function.body, variable)]
    several = (one for one in site.function.body if len(_targets(one)) > 1 and _targets(one) <= variables)
    return [*single, *several]


def other_use(site: Site, constant: Constant) -> ast.Name | None:
    """A read of the constant's variable outside of the grid and of what goes with the constants that are chosen."""
    if not constant.variable:
        return None
    tuned = names_tuned(site)
    arguments = [value for name, value in zip(positional(site), site.call.args, strict=True) if name in tuned]
    arguments += [keyword.value for keyword in site.call.keywords if keyword.arg in tuned]
    tiles = {tile.variable for tile in site.tiles if tile.home == "local"}
    dropped = (*_setting(site, tiles), *counts_for_grid(site).values())
    own = {id(node) for part in (site.grid, site.call.func, *arguments, *dropped) for node in walk(part)}
    for node in walk(site.function):
        if (
            isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Load)
            and node.id == constant.variable
            and id(node) not in own
        ):
            return node
    return None


def _variables(site: Site) -> set[str]:
    constants = (one for one in (*site.tiles, *site.options) if one.home == "local")
    return {one.variable for one in constants if other_use(site, one) is None}


def _targets(statement: ast.stmt) -> set[str]:
    if isinstance(statement, ast.Assign):
        return {n.id for target in statement.targets for n in walk(target) if isinstance(n, ast.Name)}
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return {statement.target.id}
    return set()


def _grid_uses(site: Site) -> int:
    assert isinstance(site.call.func, ast.Subscript)
    name = site.call.func.slice
    assert isinstance(name, ast.Name)
    return sum(isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id == name.id for n in walk(site.function))


def _is_in_grid(site: Site, tile: Constant) -> bool:
    """Whether the grid has to ask for this block size where it did not."""
    start, end = site.launcher.span(site.grid)
    copied = any(start <= first and last <= end for first, last in tile.spans)
    counted = (node for count in counts_for_grid(site).values() for node in walk(count))
    named = (node.id for node in (*walk(site.grid), *counted) if isinstance(node, ast.Name))
    return copied or (bool(tile.variable) and tile.variable in named)
