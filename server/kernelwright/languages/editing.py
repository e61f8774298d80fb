"""What an edit from outside has changed of a file, piece by piece, whatever its language."""

import difflib

from kernelwright.languages.support import Piece
from kernelwright.values import Refusal


def added_pieces(
    old: tuple[Piece, ...], new: tuple[Piece, ...], needed: frozenset[str] | None = None
) -> tuple[Piece, ...] | Refusal:
    """The pieces that an edit has added; a Refusal where it changed, removed or doubled what it may not.

    `old` says what may be changed, `new` are the pieces of the text after the edit. `needed`: the names among them that must
    stay, all if it is None.
    """
    editable = sorted({piece.name for piece in old if piece.editable})
    for name in editable:
        found = sum(piece.name == name for piece in new)
        if found > 1 or (found == 0 and (needed is None or name in needed)):
            return Refusal(f"`{name}` must stay defined once, at the top level of the file.")
    fixed, others = [one for one in old if not one.editable], [one for one in new if one.name not in editable]
    was, is_now = ([one.code.rstrip() for one in some] for some in (fixed, others))
    opcodes = difflib.SequenceMatcher(None, was, is_now, autojunk=False).get_opcodes()
    changes = [change for change in opcodes if change[0] != "equal"]
    for piece in (piece for _, start, end, _, _ in changes for piece in fixed[start:end]):
        where, names = (
            f"Line {piece.start_line + 1} (`{piece.first_line}`)",
            ", ".join(f"`{name}`" for name in editable),
        )
        return Refusal(f"{where} is outside of what may be changed: {names}, and new helpers beside them.")
    return tuple(piece for _, _, _, start, end in changes for piece in others[start:end])
