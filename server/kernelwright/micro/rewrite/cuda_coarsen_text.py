"""Several rows of results a thread in a kernel whose work is a nest of loops: the rows share the loops, and what they read.

Where the loops begin and end elsewhere for points near the border, as those over a window do, and for rows beyond the last
one, a thread goes through its rows one after another as before.
"""

from collections.abc import Iterable

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_coarsen import Row, continued, first_row
from kernelwright.micro.rewrite.cuda_coarsen_loops import Nest, nest
from kernelwright.micro.rewrite.cuda_code import fresh, mentions, named, plain
from kernelwright.micro.rewrite.cuda_guarded import declared, statements_of
from kernelwright.micro.rewrite.cuda_patch import Patch
from kernelwright.micro.rewrite.cuda_region import indented, region, unit_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.values import Refusal


def jammed(sight: CudaSight, row: Row, patch: Patch, *, unrolled: bool = False) -> Refusal | None:
    """Write the nest of loops for all rows of a thread at once, and behind it the kernel as it is, row by row.

    `unrolled`: once more for the loops' lengths in the workload.
    """
    found = nest(sight, row, unrolled=unrolled)
    if isinstance(found, Refusal):
        return found
    first_row(row, patch)
    _Writer(sight, row, found).write(patch)
    return None


class _Writer:
    """The lines of the two ways through a kernel."""

    def __init__(self, sight: CudaSight, row: Row, found: Nest) -> None:
        self._sight = sight
        self._row = row
        self._nest = found
        self._unit = unit_of(sight.file.source, sight.kernel)
        self._each = fresh(sight.file, "r", "row_number")
        self._own = (*found.locals.own, *(one for level in found.levels for one in level.own))

    def write(self, patch: Patch) -> None:
        kept, body = self._nest.locals.kept, self._sight.kernel.body
        moved = [one for one in body.named_children if one not in kept]
        text = [
            f"if ({' && '.join(dict.fromkeys(self._nest.inside))}) {{",
            *indented([*self._together(), "return;"], self._unit),
            "}",
            self._row.loop,
            *indented([line for one in moved for line in self._alone(one)], self._unit),
            "}",
        ]
        start = max((one.end_byte for one in kept), default=self._row.declaration.end_byte)
        for one in moved:
            if one.start_byte < start:
                patch.cut(one)
        lines = [line.lstrip() if line.lstrip().startswith("#") else line for line in indented(text, self._unit)]
        patch.between(start, body.end_byte - 1, "\n" + "\n".join(lines) + "\n")

    def _alone(self, node: Node) -> list[str]:
        """A statement for one row, behind which the next one follows."""
        return region(self._sight.file.source, (node.start_byte, node.end_byte), continued(self._sight, [node]))

    def _together(self) -> list[str]:
        """The statements for all rows; where lengths are known, as a function that is compiled for these and for any others."""
        found = self._nest
        lines = [line for one in found.locals.shared for line in self._lines(one)]
        lines += [*self._arrays(), *self._loops(), *self._for_each(found.parts.after)]
        if not found.known:
            return lines
        name = fresh(self._sight.file, "together", "rows_together")
        given = " && ".join(f"{one} == {value}" for one, value in found.known.items())
        return [
            f"auto {name} = [&]({', '.join(f'int {one}' for one in found.known)}) {{",
            *indented(lines, self._unit),
            "};",
            f"if ({given}) {name}({', '.join(map(str, found.known.values()))});",
            f"else {name}({', '.join(found.known)});",
        ]

    def _loops(self) -> list[str]:
        """The nest, from the inside out."""
        levels = self._nest.levels
        lines = self._for_each(statements_of(levels[-1].loop.body))
        for level in reversed(levels):
            unrolled = ["#pragma unroll"] if self._nest.known else []
            pragma = [self._sight.content(level.pragma).strip()] if level.pragma else unrolled
            inner = [*(line for one in level.shared for line in self._lines(one)), *lines]
            lines = [*pragma, f"{level.header} {{", *indented(inner, self._unit), "}"]
        return lines

    def _arrays(self) -> list[str]:
        """The locals that change, one for each row, with their first values."""
        source, lines, codes, values = self._sight.file.source, list[str](), list[str](), list[Node]()
        for name, (kind, value) in self._nest.locals.changing.items():
            zero = value is not None and plain(source, value).rstrip("fF") in ("0", "0.", "0.0", ".0")
            lines.append(f"{kind} {name}[{self._row.count}]{' = {}' if zero else ''};")
            if value is not None and not zero:
                values.append(value)
                codes.append(f"{name}[{self._each}] = " + "\n".join(self._lines(value)) + ";")
        return [*lines, *(self._looped([*self._needed(values), *codes]) if codes else [])]

    def _for_each(self, body: Iterable[Node]) -> list[str]:
        """Statements of the kernel, once for each row."""
        return self._looped([*self._needed(body), *(line for one in body for line in self._lines(one))])

    def _looped(self, codes: list[str]) -> list[str]:
        head = f"for (int {self._each} = 0; {self._each} < {self._row.count}; ++{self._each}) {{"
        return ["#pragma unroll", head, *indented(codes, self._unit), "}"]

    def _needed(self, nodes: Iterable[Node]) -> list[str]:
        """The row itself, and the declarations made of it, where some code reads them."""
        source, row, used, wanted = self._sight.file.source, self._row, list[Node](), list(nodes)
        for one in reversed(self._own):
            if any(mentions(source, node, declared(self._sight, one)) for node in wanted):
                used.insert(0, one)
                wanted.append(one)
        is_read = any(mentions(source, node, frozenset({row.name})) for node in wanted)
        lines = [f"const int {row.name} = {row.first} + {self._each};"] if is_read else []
        return lines + [line for one in used for line in self._lines(one)]

    def _lines(self, node: Node) -> list[str]:
        """The lines of a statement, with the locals that change as those of one row."""
        places = named(self._sight.file.source, node, frozenset(self._nest.locals.changing))
        changes = [(one.end_byte, one.end_byte, f"[{self._each}]") for one in places]
        return region(self._sight.file.source, (node.start_byte, node.end_byte), changes)
