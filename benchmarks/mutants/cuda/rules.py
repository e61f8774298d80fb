"""The rules by which survivors in CUDA C++ are explained."""

from collections.abc import Callable

from benchmarks.mutants.explained import Changed, Kind, Rule

_TILED = ("double-buffer", "shared-tile", "register-block")
_PADDED = ("pad-shared", "shared-tile of transpose")
_STEPS = ("wrong-step", "wrong-index", "dropped-term", "small-block", "wrong-sign", "wrong-constant")


def _came(kernels: tuple[str, ...], operators: tuple[str, ...], *parts: str) -> Callable[[Changed], bool]:
    """Survivors of these operators whose new lines contain one of `parts`."""
    return lambda s: s.kernel in kernels and s.operator in operators and any(part in s.came for part in parts)


RULES: tuple[Rule, ...] = (
    Rule(
        (Kind.EQUIVALENT,),
        "The loop over the grid comes to every element all the same, to some more than once, and writes the same value.",
        _came(("grid-stride", "grid-stride of saxpy"), _STEPS, "i += ", "threads / 2"),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "The length of a tile's row is room for padding: it says where the banks of shared memory meet, not what is read.",
        _came(
            _PADDED, ("little-shared", "wrong-constant", "wrong-sign", "dropped-term"), "__shared__ float tile[TILE]["
        ),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "What fills one tile is multiplied by the zeros that fill the other, or belongs to an element that is not stored.",
        _came(_TILED, ("wrong-constant",), ": 1.0f;"),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "A turn more of the loop over tiles reads nothing and adds zeros.",
        _came(_TILED, ("off-by-one-bound",), "k0 <= K", "0 <= K", "k0 + TILE <= K", "k0 + BK <= K"),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "What is stored in the last turn is not read any more.",
        _came(_TILED, ("dropped-guard",), "if (true)"),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "The difference is squared, so its sign does not matter.",
        _came(("unroll",), ("swapped-operands",), "difference = "),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "Every thread goes on to the end of what is not aligned, so an element is written more than once, with the same value.",
        _came(
            ("vectorise-access", "vectorise-access of bias_gelu"), ("swapped-operands",), "* i) - j <", "* idx) - j <"
        ),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "One value of each warp is stored since the rewrite, so an eighth of the memory would do.",
        _came(("warp-reduce of layer_norm",), ("little-shared",), "shared_bytes / 2"),
    ),
    Rule(
        (Kind.EQUIVALENT, Kind.ROUNDING),
        "The distances 17, 8, 4, 2 and 1 lead from every lane to all others, too.",
        _came(("parallel-rows",), ("wrong-constant",), "int offset = 17;"),
    ),
)
