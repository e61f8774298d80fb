"""The rules by which survivors in CUDA C++ are explained."""

from collections.abc import Callable

from benchmarks.mutants.explained import Changed, Kind, Rule

_VECTORISED = ("vectorise-access", "vectorise-access of bias_gelu")
_TILED = ("double-buffer", "shared-tile", "register-block", "tensor-core")
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
        "The number of threads is a multiple of a row of the tile, so that a thread has the same place in each row.",
        _came(("tensor-core",), ("dropped-term",), "(tid + THREADS) % "),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "There is room for more fragments than are used.",
        _came(("tensor-core",), ("dropped-term", "wrong-constant"), "> a[WM", "> b[WN", "> acc[WM"),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "The difference is squared, so its sign does not matter.",
        _came(("unroll",), ("swapped-operands",), "difference = "),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "A thread writes more elements of the tail than its own, and the same values as the threads whose they are.",
        _came(
            _VECTORISED,
            ("swapped-operands", "off-by-one-bound", "wrong-constant", "dropped-guard"),
            "for (int j = 4 * i; j < n",
            "for (int j = 8 * idx; j < total",
        ),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "The loop over the tail is not entered beyond the end, whatever its guard says.",
        _came(_VECTORISED, ("dropped-guard",), "} else if (true) {"),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "No tensor is taken for aligned, so all elements go the way of those that are not: slower, and as right.",
        _came(_VECTORISED, ("wrong-sign",), "bool aligned = "),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "A lane looks at elements of others, too: the largest is the same, and so is what is written.",
        _came(("parallel-rows",), ("wrong-step",), "j += (32 + 1) / 2"),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "One value of each warp is stored since the rewrite, so a small part of the memory would do.",
        _came(
            ("warp-reduce", "warp-reduce of layer_norm"),
            ("little-shared",),
            "shared_bytes / 2",
            "__shared__ float sdata[",
        ),
    ),
    Rule(
        (Kind.MISSED,),
        "The text launches 262,144 threads, so at the sizes of an emulator no loop over the grid turns twice; the verdict "
        "does not claim that it did.",
        _came(
            ("warp-reduce",),
            ("wrong-step", "wrong-index", "lost-sum", "dropped-term", "wrong-sign"),
            "i += ",
            "sum = x[i];",
        ),
    ),
    Rule(
        (Kind.EQUIVALENT, Kind.ROUNDING),
        "The distances 17, 8, 4, 2 and 1 lead from every lane to all others, too.",
        _came(("parallel-rows",), ("wrong-constant",), "int offset = 17;"),
    ),
    Rule(
        (Kind.EQUIVALENT,),
        "An array with more room than is used holds the same.",
        _came(
            (*_VECTORISED, "shared-tile of transpose"), ("wrong-constant",), "alignas(16) ", "constexpr int TILE = 17"
        ),
    ),
    Rule(
        (Kind.MISSED,),
        "No vector is read where there are more than eight elements, and no call of the gate has fewer in all its tensors.",
        _came(_VECTORISED, ("swapped-operands",), "idx < 8 / total"),
    ),
)
