"""A kept step of a CUDA C++ file as one program: both texts in namespaces, the workload's call, a comparison and a timing.

nvcc alone builds it. Headers of the texts move above the namespaces, and macros of one text end with it.
"""

import math
import re
import textwrap
from collections.abc import Collection, Mapping, Sequence
from importlib.resources import files

from kernelwright import words
from kernelwright.languages.cuda import SUPPORT
from kernelwright.source.cpp import Field, Function, Kind, Parameter, Token, functions_of, structures_of, tokens_of
from kernelwright.source.cpp.structures import paths
from kernelwright.source.workload import evaluate
from kernelwright.values import Call, Outcome, Refusal, Step, TensorSpec, Workload, WorkloadSource
from kernelwright.values.plain import plain

_BUILD = "nvcc -std=c++17 -O3 -arch=native reproduce.cu -o reproduce && ./reproduce"
_HEADERS = (
    *("cuda_bf16.h", "cuda_fp16.h", "cuda_runtime.h"),
    *("algorithm", "cmath", "cstdint", "cstdio", "cstdlib", "cstring", "random", "string", "type_traits", "vector"),
)
_WIDTH = 110
_INCLUDE = re.compile(r"#[ \t]*include[ \t]*(<[^>\n]+>|\"[^\"\n]+\")")
_DEFINE = re.compile(r"#[ \t]*define[ \t]+(\w+)")
_CONDITION = re.compile(r"#[ \t]*(if|endif)")
_NOT_FINITE = {"nan": "NAN", "inf": "INFINITY", "-inf": "-INFINITY"}
_TYPES = {
    "float32": "float",
    "float64": "double",
    "float16": "__half",
    "bfloat16": "__nv_bfloat16",
    "bool": "bool",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}


class _Refused(Exception):
    """Why there is no program, in one sentence."""


def program_of(step: Step, baseline: str | None, candidate: str | None) -> str | Refusal:
    """The program for `step`, which made `candidate` and was judged against `baseline`: the whole texts of the file."""
    if step.outcome is not Outcome.KEPT:
        return Refusal(f"Step {step.id} was {step.outcome}, not kept: there is nothing to reproduce.")
    if baseline is None or candidate is None:
        return Refusal("The journal no longer has the texts of this step.")
    kernel = next((k for k in SUPPORT.kernels(candidate) if k.name == step.kernel), None)
    if kernel is None:
        return Refusal(f"The text after the step has no kernel {step.kernel}.")
    workload = SUPPORT.workload(candidate, kernel.entry)
    if isinstance(workload, Refusal):
        return workload
    try:
        call = _call(workload)
        before = _Part("baseline", SUPPORT.unit(baseline, kernel).run, call)
        after = _Part("candidate", SUPPORT.unit(candidate, kernel).run, call)
        if [one.name for one in before.entry.parameters] != [one.name for one in after.entry.parameters]:
            raise _Refused(
                f"{call.entry} takes other parameters after the step, so that one call does not fit both texts."
            )
        told = [_spec(spec) for spec in _tensors(_values(call, after.entry))]
    except _Refused as refused:
        return Refusal(str(refused))
    headers = dict.fromkeys((*(f"<{one}>" for one in _HEADERS), *before.headers, *after.headers))
    return "\n".join(
        (
            *_comment(f"{step.kernel}: {step.action.strategy}"),
            *_comment(words.of_step(step)),
            *_conditions(step),
            "//",
            f"//   {_BUILD}",
            "//",
            *_comment(
                "This program runs both texts on the first workload, compares their results on a few seeds, and times them. "
                "That is a plain check: far less than what the step had to pass, which `kernelwright verify` runs again."
            ),
            "",
            *(f"#include {one}" for one in headers),
            "",
            _lines_of("tensors.txt"),
            *before.lines,
            *after.lines,
            "namespace reproduce {",
            "",
            *_comment(workload.cases[0].text),
            "const std::vector<Spec> SPECS = {",
            *(f"    {one}," for one in told),
            "};",
        )
    ) + _lines_of("program.txt")


def _lines_of(name: str) -> str:
    return files(__package__ or "").joinpath(name).read_text(encoding="utf-8")


class _Part:
    """One of the texts, as lines in a namespace of its name with a function `run_workload`. Raises _Refused."""

    def __init__(self, name: str, text: str, call: Call) -> None:
        text = text.replace("\r\n", "\n")
        if plain(text, lines=True) != text:
            raise _Refused(f"The {name} has control characters, so it cannot be written into a program.")
        functions, tokens = functions_of(text), tokens_of(text)
        self.entry = next((one for one in functions if one.name == call.entry), None) or _no_entry(call.entry)
        _qualified(name, tokens, {one.name for one in functions})
        self.headers = _headers(name, tokens)
        macros = dict.fromkeys(found[1] for one in tokens if (found := _DEFINE.match(one.text)) and _directive(one))
        lines = "\n".join(line.rstrip() for line in _inside(text, tokens).split("\n"))
        body = re.sub(r"\n{3,}", "\n\n", lines).strip("\n")
        scope = "::".join((*filter(None, self.entry.scope), call.entry))
        self.lines = [
            f"namespace {name} {{",
            "",
            body,
            "",
            *_runner(call, self.entry, scope, structures_of(text)),
            "",
            f"}}  // namespace {name}",
            *(f"#undef {one}" for one in macros),
            "",
        ]


def _no_entry(entry: str) -> Function:
    raise _Refused(f"The text has no function {entry} outside of macros, so no program can call it.")


def _call(workload: Workload) -> Call:
    if workload.source is WorkloadSource.PROGRAM:
        raise _Refused("A program whose print is compared is a program already: only lines of a kernel are exported.")
    return evaluate(workload.cases[0].text)


def _directive(token: Token) -> bool:
    return token.kind is Kind.DIRECTIVE


def _qualified(name: str, tokens: Sequence[Token], own: set[str]) -> None:
    """Raises _Refused for a name of the text's own behind a `::` that nothing stands in front of."""
    for before, at, behind in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if at.text == "::" and behind.text in own and before.kind is not Kind.WORD and before.text != ">":
            raise _Refused(f"The {name} calls ::{behind.text}, which a namespace hides: drop the ::.")


def _headers(name: str, tokens: Sequence[Token]) -> list[str]:
    """The headers that a text includes. Raises _Refused for those of its project, and under a condition."""
    depth, found = 0, list[str]()
    for token in filter(_directive, tokens):
        if (condition := _CONDITION.match(token.text)) is not None:
            depth += 1 if condition[1] == "if" else -1
        if (included := _INCLUDE.match(token.text)) is None:
            continue
        if included[1].startswith('"') and included[1].strip('"') not in _HEADERS:
            raise _Refused(f"The {name} includes {included[1]}, so that one file would not be enough.")
        if depth:
            raise _Refused(f"The {name} includes {included[1]} under a condition, which cannot be kept.")
        found.append(f"<{included[1][1:-1]}>")
    return found


def _inside(text: str, tokens: Sequence[Token]) -> str:
    """The text for a namespace: without its headers and `#pragma once`, and with the linkage of C++."""
    made, at = list[str](), 0
    for index, token in enumerate(tokens):
        new = None
        if _directive(token) and (_INCLUDE.match(token.text) or token.text.split()[:2] == ["#pragma", "once"]):
            new, end = "", token.end
        elif token.text == "extern" and tokens[index + 1 : index + 2] and tokens[index + 1].text == '"C"':
            opens = tokens[index + 2 : index + 3] and tokens[index + 2].text == "{"
            new, end = "inline namespace of_c " if opens else "", tokens[index + 1].end
        if new is not None:
            made += (text[at : token.start], new)
            at = end if new or text[end : end + 1] != " " else end + 1
    return "".join((*made, text[at:]))


def _values(call: Call, entry: Function) -> list[object]:
    """What the call gives each parameter, which stands for itself where it has a default, or is a stream, and gets nothing."""
    names = [one.name for one in entry.parameters]
    given: dict[str, object] = dict(zip(names, call.args, strict=False)) | dict(call.kwargs)
    missing = [one for one in entry.parameters if one.name not in given and not (one.default or _is_stream(one))]
    if missing or len(call.args) > len(names) or set(given) - set(names):
        raise _Refused(f"The workload line does not fit the parameters of {entry.name}.")
    return [given.get(one.name, one) for one in entry.parameters]


def _runner(call: Call, entry: Function, scope: str, structures: Mapping[str, Sequence[Field]]) -> list[str]:
    """`run_workload`, which makes the call of the line on tensors in memory of the device and answers with its number."""
    given, made, number = list[str](), list[str](), 0
    for parameter, value in zip(entry.parameters, _values(call, entry), strict=True):
        if isinstance(value, dict):
            arrays = {path for path, one in paths(structures, parameter.type) if one.is_array}
            made += _structure(parameter, value, number, arrays)
            given.append(f"given_{parameter.name}")
        else:
            given.append(_argument(parameter, value, number, known=not entry.template))
        number += len(_tensors(value))
    unused = "" if number else "  (void)tensors;"
    called = f"{scope}{f'<{call.template}>' if call.template else ''}"
    if call.grid is None or call.block is None:
        whole = f"{called}({', '.join(given)})"
        is_void = entry.returns == "void"
        body = [f"  {whole};", "  return 0;"] if is_void else [f"  return reproduce::number({whole});"]
    else:
        place = f"dim3({_dims(call.grid)}), dim3({_dims(call.block)}), {call.shared}"
        limit = f"  cudaFuncSetAttribute({called}, cudaFuncAttributeMaxDynamicSharedMemorySize, {call.shared});"
        body = [limit] * (call.shared > 48 << 10) + [f"  {called}<<<{place}>>>({', '.join(given)});", "  return 0;"]
    return ["inline double run_workload(void** tensors) {", *([unused] if unused else []), *made, *body, "}"]


def _structure(parameter: Parameter, value: Mapping[str, object], number: int, arrays: Collection[str]) -> list[str]:
    """Statements that make a structure whose first tensor has that number. `arrays`: which of its fields are some."""
    made = f"given_{parameter.name}"
    lines = [f"  {' '.join(word for word in parameter.type.split() if word not in ('const', '&'))} {made}{{}};"]
    waiting = [(f"{made}.{name}", one) for name, one in value.items()]
    while waiting:
        path, one = waiting.pop(0)
        if isinstance(one, dict):
            waiting = [*((f"{path}.{name}", inner) for name, inner in one.items()), *waiting]
        elif isinstance(one, tuple | list) and path.removeprefix(f"{made}.") in arrays:
            waiting = [*((f"{path}[{at}]", inner) for at, inner in enumerate(one)), *waiting]
        else:
            lines.append(f"  {path} = {_argument(Parameter(path, f'decltype({path})'), one, number, known=True)};")
            number += isinstance(one, TensorSpec)
    return lines


def _tensors(value: object) -> list[TensorSpec]:
    """The tensors of a value, those in structures too, in the order of the line."""
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list):
        return [spec for one in value for spec in _tensors(one)]
    return [value] if isinstance(value, TensorSpec) else []


def _argument(parameter: Parameter, value: object, number: int, *, known: bool) -> str:
    """C++ for one argument. `known`: whether the parameter's type says what it is, and not what it is in a template."""
    kind = re.sub(r"\s*\b__restrict(?:__)?\b", "", parameter.type).strip()
    match value:
        case Parameter():
            return value.default or "nullptr"
        case TensorSpec():
            if "&" in kind:
                raise _Refused(f"{parameter.name} is a reference, to which no tensor can be passed.")
            return f"({kind if known else f'{_type(value)} *'})tensors[{number}]"
        case None:
            return "nullptr"
        case bool():
            return "true" if value else "false"
        case int():
            return f"{value}LL" if abs(value) >= 1 << 31 else str(value)
        case float():
            return repr(value) if math.isfinite(value) else _NOT_FINITE[str(value)]
        case tuple() | list() if known and all(isinstance(one, int | float) for one in value):
            listed = ", ".join(_argument(parameter, one, 0, known=True) for one in value)
            return f"{kind.removeprefix('const ')}{{{listed}}}"
    raise _Refused(f"{parameter.name} is given {type(value).__name__}, which cannot be written in C++.")


def _dims(sizes: Sequence[int]) -> str:
    return ", ".join(map(str, sizes))


def _is_stream(parameter: Parameter) -> bool:
    return parameter.type.split()[-1:] == ["cudaStream_t"]


def _type(spec: TensorSpec) -> str:
    if spec.dtype not in _TYPES:
        raise _Refused(f"The workload has a tensor of {spec.dtype}, which a program cannot fill.")
    return _TYPES[spec.dtype]


def _spec(spec: TensorSpec) -> str:
    """A row of the table of tensors."""
    if spec.layout != "contiguous" or spec.strides:
        raise _Refused("The workload has a tensor that is not contiguous, which a program cannot make.")
    count = math.prod(spec.shape)
    kind = "empty" if spec.role == "out" else spec.generator
    numbers = ", ".join(
        _argument(Parameter("a number", "double"), float(one), 0, known=True) for one in spec.parameters
    )
    return (
        f"{{{count}, Kind::{kind}_, sizeof({_type(spec)}), store<{_type(spec)}>, load<{_type(spec)}>, {{{numbers}}}}}"
    )


def _conditions(step: Step) -> list[str]:
    if not (words.measured(step.verdict, step.measurement) and step.measurement is not None):
        return []
    conditions: Mapping[str, object] = step.measurement.conditions
    return [line for name, value in conditions.items() for line in _comment(f"- {name}: {value}")]


def _comment(text: str) -> list[str]:
    """Words that others may have written, as comments: none ends in a backslash, which would continue it."""
    return [f"// {line}".replace("\\", "/") for line in textwrap.wrap(plain(text), _WIDTH)] or ["//"]
