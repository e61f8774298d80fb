"""Which pieces of a file can matter to the kernels of some of them, so that one kernel costs no reading of all."""

from kernelwright.source.linked import Part


def connected(parts: list[Part], around: range) -> list[Part]:
    """The pieces `around` with those that they use, those that use them, and so on, in the file's order.

    Linked without the others they give the same kernels: whatever linking looks up, it looks up by a name that both
    pieces touch.
    """
    touches = [part.outline.touches for part in parts]
    defined = frozenset().union(*(part.outline.defines for part in parts))
    aliases = (alias for part in parts if part.outline.assigned for alias in part.outline.aliases)
    known = defined.union(name for name, mentions in aliases if not defined.isdisjoint(mentions))
    near = fresh = set(around)
    followed: set[str] = set()
    while fresh:
        names = known & frozenset().union(*(touches[i] for i in fresh)) - followed
        if not names:
            break
        followed |= names
        fresh = {i for i, touched in enumerate(touches) if i not in near and not names.isdisjoint(touched)}
        near = near | fresh
    return [parts[i] for i in sorted(near)]
