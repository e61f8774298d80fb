"""The body of a kernel that walks long rows in steps: one pass a reduction, fewer where a pass can do several."""

from kernelwright.micro.rewrite.program import ELEMENT, ROW, Line, Program
from kernelwright.micro.rewrite.tile_context import Context, tile_lines
from kernelwright.ops.folds import FOLDS

_LOWEST = "-3.4028234663852886e38"  # finite, so that lowest - lowest is 0 and -inf - lowest -inf: never NaN


def looped_body(context: Context) -> list[str]:
    """Passes over the row, then the pass that stores the result (none for a result of one number a row)."""
    program = context.program
    body = [context.load(o) for o in context.row_operands()]
    scalars = [o for o in program.operands if o.level == ELEMENT and o.terms == ()]
    body += [context.load(o) for o in scalars]
    ready = {o.name for o in (*context.row_operands(), *scalars)} | set(program.scalars)
    done: set[str] = set()
    for line in program.lines:
        if line.name in done:
            continue
        if line.reduce:
            together = pass_of(program, line)
            body += pass_lines(context, together, ready)
            made = {item.name for item in together}
            done |= made
            ready |= made
        elif line.level == ROW:
            body.append(f"{line.name} = {line.expression}")
            ready.add(line.name)
    if program.result_level == ROW:
        return [*body, context.store()]
    return [*body, *loop(context, {program.result}, ready, [context.store()], backwards=context.shape.backwards)]


def pass_of(program: Program, line: Line) -> list[Line]:
    """The lines that the pass of `line` computes: all of an online softmax, sum to variance for moments."""
    lines = program.lines
    start = lines.index(line)
    if line.tag == "online":
        stop = next(i for i in range(start, len(lines)) if lines[i].reduce == "sum" and lines[i].tag == "online")
        return [line, lines[stop]]
    if line.tag == "moments" and start + 3 < len(lines) and lines[start + 3].tag == "moments":
        return [line, lines[start + 1], lines[start + 3]]
    return [line]


def pass_lines(context: Context, together: list[Line], ready: set[str]) -> list[str]:
    """The pass that computes the lines of `pass_of`; the names in `ready` are there already."""
    if len(together) == 2:
        return _online(context, together[0], together[1], ready)
    if len(together) == 3:
        return _moments(context, together, ready)
    return _single(context, together[0], ready)


def _tile_size(context: Context) -> str:
    return {"row": "[BLOCK]", "strip": "[BLOCK, STRIP]"}.get(context.shape.kind, "[ROWS, BLOCK]")


def loop(
    context: Context, targets: set[str], ready: set[str], inside: list[str], *, backwards: bool = False
) -> list[str]:
    """A pass over the row that loads and computes what `targets` need, then does `inside`.

    `backwards` begins at the row's end, which the pass before has left in the cache.
    """
    program = context.program
    lines = program.needed(targets, ready)
    needed = set(targets).union(*(set(line.uses) for line in lines)) - ready
    body = [
        *tile_lines(context.shape, "start"),
        *(context.load(o) for o in context.element_operands(needed) if o.terms != ()),
        *(f"{line.name} = {line.expression}" for line in lines),
        *inside,
    ]
    stages = context.shape.stages
    span = f"tl.range({context.span}, BLOCK, num_stages={stages})" if stages else f"range({context.span}, BLOCK)"
    if not backwards:
        return [f"for start in {span}:", *(f"    {line}" for line in body)]
    return [
        "# Backwards: the end of the row is still in the cache.",
        "last = (length - 1) // BLOCK * BLOCK",
        f"for step in {span}:",
        "    start = last - step",
        *(f"    {line}" for line in body),
    ]


def _single(context: Context, line: Line, ready: set[str]) -> list[str]:
    tile, size = context.tile, _tile_size(context)
    name, x = f"{line.name}_tile", line.expression
    if line.reduce.startswith("arg"):
        return _arg(context, line, ready)
    fold = FOLDS[line.reduce]
    lanes = f"tl.where(mask, {x}, {fold.fill})"
    start = (
        f"tl.full({size}, {fold.fill}, dtype=tl.float32)" if fold.identity else f"tl.zeros({size}, dtype=tl.float32)"
    )
    step = f"{name} += {lanes}" if line.reduce == "sum" else f"{name} = {fold.joined.format(name, lanes)}"
    final = fold.reduced(name, tile.axis, tile.keep)
    return [f"{name} = {start}", *loop(context, set(line.uses), ready, [step]), f"{line.name} = {final}"]


def _online(context: Context, highest: Line, total: Line, ready: set[str]) -> list[str]:
    """Maximum and sum of exponentials in one pass (Milakov and Gimelshein 2018), a lane at a time.

    Of the two exponentials of a step, exp(old maximum - new) and exp(x - new), one is always 1: one is computed.
    """
    tile, size = context.tile, _tile_size(context)
    x = highest.expression
    step = [
        f'value = tl.where(mask, {x}, float("-inf"))',
        "decay = tl.exp(-tl.abs(value - lane_max))",
        "lane_sum = tl.where(value > lane_max, lane_sum * decay + 1.0, lane_sum + decay)",
        "lane_max = tl.maximum(lane_max, value)",
    ]
    return [
        f"lane_max = tl.full({size}, {_LOWEST}, dtype=tl.float32)",
        f"lane_sum = tl.zeros({size}, dtype=tl.float32)",
        *loop(context, set(highest.uses), ready, step),
        f"{highest.name} = tl.max(lane_max, axis={tile.axis}{tile.keep})",
        f"lane_sum = lane_sum * tl.exp(lane_max - {highest.name})",
        f"{total.name} = tl.sum(lane_sum, axis={tile.axis}{tile.keep})",
    ]


def _moments(context: Context, lines: list[Line], ready: set[str]) -> list[str]:
    """Mean and sum of squared deviations in one pass (Welford 1962), lanes combined at the end (Chan et al. 1979).

    A lane that is not masked has counted every step, so that one division serves all lanes.
    """
    tile, size = context.tile, _tile_size(context)
    x, mean, squares = lines[0].expression, lines[1].name, lines[2].name
    step = [
        "steps += 1.0",
        "lane_count += tl.where(mask, 1.0, 0.0)",
        f"delta = tl.where(mask, {x} - lane_mean, 0.0)",
        "lane_mean += delta * (1.0 / steps)",
        f"lane_squares += tl.where(mask, delta * ({x} - lane_mean), 0.0)",
    ]
    axis = f"axis={tile.axis}{tile.keep}"
    divisor = "tl.maximum(count, 1.0)" if context.count == "count" else context.count
    return [
        "steps = 0.0",
        f"lane_count = tl.zeros({size}, dtype=tl.float32)",
        f"lane_mean = tl.zeros({size}, dtype=tl.float32)",
        f"lane_squares = tl.zeros({size}, dtype=tl.float32)",
        *loop(context, set(lines[0].uses), ready, step),
        *([f"count = tl.sum(lane_count, {axis})"] if context.count == "count" else []),
        f"{mean} = tl.sum(lane_mean * lane_count, {axis}) / {divisor}",
        f"lane_squares += lane_count * (lane_mean - {mean}) * (lane_mean - {mean})",
        f"{squares} = tl.sum(lane_squares, {axis})",
    ]


def _arg(context: Context, line: Line, ready: set[str]) -> list[str]:
    """Each lane keeps its best value and place; the first place wins, and a NaN beats every number, as in torch."""
    tile, size = context.tile, _tile_size(context)
    kind, x = line.reduce.removeprefix("arg"), line.expression
    fill = FOLDS[line.reduce].fill
    sign = ">" if kind == "max" else "<"
    step = [
        f"better = ({x} {sign} best) | (({x} != {x}) & (best == best)) | (place == length)",
        f"best = tl.where(mask & better, {x}, best)",
        "place = tl.where(mask & better, columns, place)",
    ]
    return [
        f"best = tl.full({size}, {fill}, dtype=tl.float32)",
        f"place = tl.zeros({size}, dtype=tl.int32) + length",
        *loop(context, set(line.uses), ready, step),
        f"extreme = tl.reduce(best, {tile.axis}, nan_{kind}{tile.keep})",
        "found = (best == extreme) | (best != best)",
        f"{line.name} = tl.min(tl.where(found, place, length), axis={tile.axis}{tile.keep})",
    ]
