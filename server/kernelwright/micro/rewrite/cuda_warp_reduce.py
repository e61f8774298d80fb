"""A block's reduction by warp shuffles: each warp folds its values in registers, the first warp what they came to."""

from collections.abc import Sequence

from tree_sitter import Node

from kernelwright.micro.rewrite.cuda_code import fresh, mentions, named, plain
from kernelwright.micro.rewrite.cuda_guarded import X, declared, type_of
from kernelwright.micro.rewrite.cuda_patch import Patch, indent_of
from kernelwright.micro.rewrite.cuda_sight import CudaSight
from kernelwright.micro.rewrite.cuda_tree import Combined, Tree, is_thread, returns, trees
from kernelwright.source.cuda.accesses import Access
from kernelwright.source.cuda.text import field, is_inside, of_type
from kernelwright.values import Refusal

_SHUFFLED = ("float", "double", "int", "unsigned", "unsigned int", "long long", "unsigned long long")
_NAMES = {"+": ("sum", "total"), "*": ("product", "total")}


def shuffled(sight: CudaSight) -> tuple[Patch, tuple[Tree, ...]] | Refusal:
    """The kernel with all its trees as shuffles."""
    found = trees(sight)
    if isinstance(found, Refusal):
        return found
    early = next(returns(sight), None)
    if early is not None and early.start_byte < found[-1].loop.node.start_byte:
        return Refusal(
            "A thread may return ahead of the tree, and every lane of a warp has to shuffle.", early.start_point.row
        )
    patch, taken = sight.patch(), set[str]()
    for tree in found:
        wrong = _other_use(sight, found, tree)
        if wrong is not None:
            return wrong
        _write(sight, patch, found, tree, taken)
    return patch, found


def _other_use(sight: CudaSight, found: tuple[Tree, ...], tree: Tree) -> Refusal | None:
    """A use of a tree's array that is neither a thread's own element ahead of a tree nor the first one behind it."""
    own = [access.node for one in found for access in _own(sight, found, one)]
    for fold in tree.folds:
        line, uses = tree.loop.node.start_point.row, [one for one in sight.accesses if one.base == fold.array]
        if fold.array not in sight.names.shared or type_of(sight, fold.array) not in _SHUFFLED:
            return Refusal(f"`{fold.array}` holds what no shuffle moves.", line)
        for access in uses:
            in_tree = any(is_inside(access.node, one.loop.node) for one in found)
            is_first = _is_first(sight, access) and access.node.start_byte > found[0].loop.node.end_byte
            if not in_tree and not is_first and access.node not in own:
                reason = f"`{sight.content(access.node)}` is neither the thread's own value nor what the tree comes to."
                return Refusal(reason, access.node.start_point.row)
        words = list(named(sight.file.source, sight.kernel.body, frozenset({fold.array})))
        if len(words) != len(uses) + 1:
            return Refusal(f"`{fold.array}` is used as a whole.", words[-1].start_point.row)
        if not _is_stored(sight, found, tree, fold):
            return Refusal(f"Not every thread stores its value in `{fold.array}` right ahead of the tree.", line)
    return None


def _is_stored(sight: CudaSight, found: tuple[Tree, ...], tree: Tree, fold: Combined) -> bool:
    """Whether each thread stores its element, at once or in both branches of a condition."""
    own = [one for one in _own(sight, found, tree) if one.base == fold.array]
    scope = tree.loop.node.parent
    if not own or own[0].kind != "store" or scope is None or any(not is_inside(one.node, scope) for one in own):
        return False
    beside = _statement_beside(own[0].node, tree)
    if beside.type == "expression_statement":
        return True
    branches = (field(beside, "consequence"), field(beside, "alternative"))
    stores = [one.node for one in own if one.kind == "store"]
    return all(one is not None and any(is_inside(store, one) for store in stores) for one in branches)


def _own(sight: CudaSight, found: tuple[Tree, ...], tree: Tree) -> list[Access]:
    """The uses of the thread's own elements ahead of a tree, as far back as the tree before it."""
    arrays = {fold.array for fold in tree.folds}
    since = max(
        (one.loop.node.end_byte for one in found if one.loop.node.end_byte <= tree.loop.node.start_byte), default=0
    )
    near = (one for one in sight.accesses if since <= one.node.start_byte < tree.loop.node.start_byte)
    return [one for one in near if one.base in arrays and is_thread(sight, one.indices[0])]


def _is_first(sight: CudaSight, access: Access) -> bool:
    return access.kind == "load" and sight.names.number(access.indices[0]) == 0


def _write(sight: CudaSight, patch: Patch, found: tuple[Tree, ...], tree: Tree, taken: set[str]) -> None:
    source = sight.file.source
    margin = indent_of(source, tree.loop.node)
    step = "    " if "\t" not in margin else "\t"
    thread = _thread(sight)
    registers = {fold.array: _register(sight, patch, found, tree, fold, taken) for fold in tree.folds}
    warps = tree.block // 32
    last = _last_readers(sight, found, tree)
    lines = [*_folding(tree.folds, registers, 32, step)]
    stored = [f"{array}[{thread} / 32] = {register};" for array, register in registers.items()]
    lines += _under(f"{thread} % 32 == 0", stored, step)
    lines += ["__syncthreads();", f"if ({thread} < {warps}) {{"]
    lines += [f"{step}{register} = {array}[{thread}];" for array, register in registers.items()]
    lines += [f"{step}{one}" for one in _folding(tree.folds, registers, warps, step)]
    if last is None:
        firsts = [f"{array}[0] = {register};" for array, register in registers.items()]
        lines += [f"{step}{one}" for one in _under(f"{thread} == 0", firsts, step)]
    lines += ["}"] if last is not None else ["}", "__syncthreads();"]
    for access in last or ():
        patch.replace(access.node, registers[access.base])
    pragma = tree.loop.node.prev_named_sibling
    if pragma is not None and pragma.type == "preproc_call":
        patch.cut(pragma)
    patch.cut(tree.barrier).replace(tree.loop.node, f"\n{margin}".join(lines))


def _thread(sight: CudaSight) -> str:
    """What the kernel calls the index of its thread."""
    values = sight.names.values.items()
    return next((name for name, value in values if plain(sight.file.source, value) == X), X)


def _register(
    sight: CudaSight, patch: Patch, found: tuple[Tree, ...], tree: Tree, fold: Combined, taken: set[str]
) -> str:
    """The local that holds a thread's value in the place of its element; its stores become assignments."""
    source = sight.file.source
    own = [one for one in _own(sight, found, tree) if one.base == fold.array]
    first = own[0].node.parent
    statement = first.parent if first is not None else None
    beside = statement is not None and statement.parent == tree.loop.node.parent
    value = field(first, "right")
    if len(own) == 1 and beside and statement is not None and value is not None and value.type == "identifier":
        name = sight.content(value)
        is_local = (
            name in sight.names.assigned and name not in sight.names.values and sight.kernel.parameter(name) is None
        )
        if is_local and not _is_read_after(sight, tree, statement, name):
            patch.cut(statement)
            return name
    wanted = [one for one in (*_NAMES.get(fold.operator, ("most",)), f"{fold.array}_value") if one not in taken]
    name = fresh(sight.file, *wanted)
    taken.add(name)
    kind = type_of(sight, fold.array)
    is_plain = beside and own[0].kind == "store" and first is not None and first.type == "assignment_expression"
    if is_plain:
        patch.replace(own[0].node, f"{kind} {name}")
    else:
        outer = _statement_beside(own[0].node, tree)
        patch.before(outer, f"{kind} {name};\n{indent_of(source, outer)}")
        patch.replace(own[0].node, name)
    for one in own[1:]:
        patch.replace(one.node, name)
    return name


def _statement_beside(node: Node, tree: Tree) -> Node:
    while node.parent is not None and node.parent != tree.loop.node.parent:
        node = node.parent
    return node


def _is_read_after(sight: CudaSight, tree: Tree, statement: Node, name: str) -> bool:
    """Whether a local is used again behind the store: further down, or anywhere in a loop around it that it outlives."""
    uses = named(sight.file.source, sight.kernel.body, frozenset({name}))
    outer = tree.loop.node.parent
    while outer is not None and outer.type not in ("for_statement", "while_statement", "do_statement"):
        outer = outer.parent
    born_inside = outer is None or any(
        name in declared(sight, one) and is_inside(one, outer) for one in of_type(sight.kernel.body, "declaration")
    )
    later = [one for one in uses if one.start_byte >= statement.end_byte]
    if not born_inside or not later:
        return not born_inside
    overwritten = later[0].parent
    beside = (
        overwritten is not None and overwritten.parent is not None and overwritten.parent.parent == statement.parent
    )
    right = field(overwritten, "right")
    is_set = beside and right is not None and field(overwritten, "left") == later[0]
    return not is_set or mentions(sight.file.source, right, frozenset({name})) if right is not None else True


def _last_readers(sight: CudaSight, found: tuple[Tree, ...], tree: Tree) -> list[Access] | None:
    """The reads of the first element behind the last tree, where thread 0 alone does them; None for anything else."""
    arrays = {fold.array for fold in tree.folds}
    reads = [one for one in sight.accesses if one.base in arrays and one.node.start_byte > tree.loop.node.end_byte]
    if tree is not found[-1] or tree.loop.node.parent != sight.kernel.body or not reads:
        return None
    return reads if all(_is_of_thread_0(sight, one.node) for one in reads) else None


def _is_of_thread_0(sight: CudaSight, node: Node) -> bool:
    """Whether a node stands in `if (tid == 0)` at the end of the kernel's body."""
    outer = node.parent
    while outer is not None and outer.parent != sight.kernel.body:
        outer = outer.parent
    tested = field(outer, "condition", "value")
    left, right, sign = (field(tested, part) for part in ("left", "right", "operator"))
    if outer is None or outer.type != "if_statement" or left is None or right is None or sign is None:
        return False
    inside = field(outer, "consequence")
    zero = sight.names.number(right) == 0 and is_thread(sight, left) and sight.content(sign) == "=="
    return zero and inside is not None and is_inside(node, inside)


def _folding(folds: Sequence[Combined], registers: dict[str, str], lanes: int, step: str) -> list[str]:
    """The shuffles that fold the values of so many lanes into the first one's."""
    if lanes == 1:
        return []
    mask = "0xffffffff" if lanes == 32 else hex((1 << lanes) - 1)
    moved = [
        one.code(registers[one.array], f"__shfl_down_sync({mask}, {registers[one.array]}, offset)") for one in folds
    ]
    head = f"for (int offset = {lanes // 2}; offset > 0; offset >>= 1)"
    return [f"{head} {moved[0]}"] if len(moved) == 1 else [f"{head} {{", *(f"{step}{one}" for one in moved), "}"]


def _under(condition: str, statements: Sequence[str], step: str) -> list[str]:
    if len(statements) == 1:
        return [f"if ({condition}) {statements[0]}"]
    return [f"if ({condition}) {{", *(f"{step}{one}" for one in statements), "}"]
