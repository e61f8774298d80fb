"""A Triton kernel with all launches that the file has of it, for changes that each of them feels."""

from collections.abc import Container
from dataclasses import replace

from kernelwright.micro.rewrite.triton_launch import Site, launch_site, launched_in, together
from kernelwright.micro.rewrite.triton_source import enclosing_fragment, is_defined_once
from kernelwright.values import Kernel, Refusal


def everywhere(text: str, kernel: Kernel) -> Site | Refusal:
    """The launch of `kernel` in its entry, with those in other functions among its twins: what differs is not free."""
    site = launch_site(text, kernel)
    if isinstance(site, Refusal):
        return site
    if site.elsewhere and not is_defined_once(text, kernel.name):
        return Refusal(f"Several functions of the file are called {kernel.name}.", line=kernel.name_line)
    found = {one.call.lineno: one for one in (site, *site.twins)}
    for line in site.elsewhere:
        if line not in found:
            around = enclosing_fragment(text, line - 1)
            sites = around if isinstance(around, Refusal) else launched_in(text, kernel.name, site.kernel, around)
            if isinstance(sites, Refusal):
                return sites
            found.update((one.call.lineno, one) for one in sites if one.call.lineno not in found)
        if line not in found:
            return Refusal(f"The launch on line {line} could not be read.", line=line - 1)
    return together(site, tuple(one for one in found.values() if one is not site), ())


def narrowed(site: Site, names: Container[str]) -> Site:
    """The launches with those block sizes alone that have one of these names."""
    own, *twins = (
        replace(one, tiles=tuple(tile for tile in one.tiles if tile.name in names)) for one in (site, *site.twins)
    )
    return replace(own, twins=tuple(twins))


def each(site: Site) -> tuple[Site, ...]:
    """The launches one by one, each with the others as its twins, and with the constants that are free in all of them."""
    free = {constant.name for constant in (*site.tiles, *site.options)}
    all_ = (replace(site, twins=()), *site.twins)
    return tuple(
        replace(
            one,
            tiles=tuple(tile for tile in one.tiles if tile.name in free),
            options=tuple(option for option in one.options if option.name in free),
            twins=tuple(other for other in all_ if other is not one),
        )
        for one in all_
    )
