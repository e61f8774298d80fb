"""The text of a kernel's fp64 twin: its types, literals and functions exchanged token by token."""

import re

from kernelwright.source.cpp.instances import exchanged
from kernelwright.source.cpp.tokens import Kind, Token, tokens_of

_SINGLE = {
    "float": "double",
    **{f"float{n}": f"double{n}" for n in (1, 2, 3, 4)},
    **{f"make_float{n}": f"make_double{n}" for n in (1, 2, 3, 4)},
}
_NARROW = dict.fromkeys(("half", "__half", "nv_bfloat16", "__nv_bfloat16"), "double")
_CONVERTED = dict.fromkeys(
    (
        *("__half2float", "__float2half", "__float2half_rn", "__double2half"),
        *("__bfloat162float", "__float2bfloat16", "__float2bfloat16_rn", "__double2bfloat16"),
    ),
    "double",
)
_FUNCTIONS = re.compile(  # of C, which end in f for a float
    r"(?:exp|exp2|exp10|expm1|log|log2|log10|log1p|sqrt|rsqrt|cbrt|rcbrt|pow|fabs|floor|ceil|trunc|round|rint|nearbyint|fmod"
    r"|fmax|fmin|fma|fdim|erf|erfc|tgamma|lgamma|hypot|copysign|ldexp|remainder|normcdf|a?(?:sin|cos|tan)h?|atan2"
    r"|(?:sin|cos)pi)f"
)
_FAST = {f"__{name}f": name for name in ("exp", "exp10", "log", "log2", "log10", "sin", "cos", "tan", "tanh", "pow")}
_ROUNDED = {
    "__fadd_rn": "__dadd_rn",
    "__fsub_rn": "__dsub_rn",
    "__fmul_rn": "__dmul_rn",
    "__fdiv_rn": "__ddiv_rn",
    "__fmaf_rn": "__fma_rn",
    "__frcp_rn": "__drcp_rn",
    "__fsqrt_rn": "__dsqrt_rn",
    "__frsqrt_rn": "rsqrt",
    "CUDART_INF_F": "CUDART_INF",
    "CUDART_NAN_F": "CUDART_NAN",
    "CUDART_PI_F": "CUDART_PI",
    "FLT_MAX": "DBL_MAX",
    "FLT_MIN": "DBL_MIN",
    "FLT_EPSILON": "DBL_EPSILON",
}
_BITS = re.compile(r"__float_as_u?int|__u?int_as_float|__fdividef|__saturatef|\b(?:half|__half|__nv_bfloat16)2\b")
_LITERAL = re.compile(r"((?:\d[\d']*(?:\.[\d']*)?|\.[\d']+)(?:[eE][+-]?\d+)?)[fF]$")


def widened(text: str, *, narrow: bool = False) -> str | None:
    """The text with double for float, with `narrow` for 16 bits too; None where that changes nothing.

    Where the bits of a number are looked at, or half numbers come in pairs, there is none.
    """
    words = {**_SINGLE, **_FAST, **_ROUNDED, **(_NARROW | _CONVERTED if narrow else {})}
    before, text = text, exchanged(text, lambda argument: words.get(argument, argument))
    names = {token.text for token in tokens_of(text) if token.kind is Kind.WORD}
    if any(_BITS.fullmatch(name) for name in names):
        return None
    if text == before and not names & ({"float", *_SINGLE} | (_NARROW.keys() if narrow else set())):
        return None
    made, at = list[str](), 0
    for token in tokens_of(text):
        new = _exchanged(token, words)
        if new is not None:
            made += (text[at : token.start], new)
            at = token.end
    found = "".join((*made, text[at:]))
    return found if found != before else None


def widened_arguments(template: str) -> str:
    """The arguments of a template in the twin."""
    return ", ".join({**_SINGLE, **_NARROW}.get(one, one) for one in template.split(", "))


def _exchanged(token: Token, words: dict[str, str]) -> str | None:
    if token.kind is Kind.WORD:
        if token.text in words:
            return words[token.text]
        return token.text[:-1] if _FUNCTIONS.fullmatch(token.text) else None
    if token.kind is Kind.NUMBER and not token.text.startswith(("0x", "0X")):
        literal = _LITERAL.match(token.text)
        if literal is not None:
            plain = literal[1]
            return plain if "." in plain or "e" in plain.lower() else f"{plain}.0"
    if token.kind is Kind.DIRECTIVE and token.text.lstrip("# \t").startswith("define"):
        return re.sub(r"\w+\.?\w*|\.\w+", lambda match: _in_macro(match[0], words), token.text)
    return None


def _in_macro(word: str, words: dict[str, str]) -> str:
    kind = Kind.NUMBER if word[0].isdigit() or word[0] == "." else Kind.WORD
    return _exchanged(Token(kind, word, 0, 0, 0), words) or word
