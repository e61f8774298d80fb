"""Breaks generated lines that are too long where the usual formatters break them."""

import re
from collections.abc import Iterator

from kernelwright.place.layout import WIDTH, call_text

_LOAD = re.compile(r"(\w+) = tl\.load\((\w+_ptr) \+ \((.+?)\)(, mask=.+)?\)(\.to\(tl\.float32\)| != 0)")
_CAST = re.compile(r"(\w+) = (tl\.load\(.+\))\.to\(tl\.float32\)")
_OPERATORS = (("|",), ("&",), ("+", "-"), ("*", "/", "//", "%"))  # loosest first


def fitted(line: str) -> Iterator[str]:
    """The line, its indentation included, as one or more lines of at most WIDTH columns where that can be done."""
    indent = len(line) - len(line.lstrip())
    text = line[indent:]
    if len(line) <= WIDTH or "\n" in line or text.startswith(('"', "#", "for ")):
        yield line
        return
    load = _LOAD.fullmatch(text)
    if load:  # the index gets a name
        name, pointer, index, mask, cast = load.groups()
        yield from fitted(f"{' ' * indent}{name}_at = {index}")
        yield from fitted(f"{' ' * indent}{name} = tl.load({pointer} + {name}_at{mask or ''}){cast}")
        return
    cast = _CAST.fullmatch(text)
    if cast:
        yield from fitted(f"{' ' * indent}{cast[1]} = {cast[2]}")
        yield f"{' ' * indent}{cast[1]} = {cast[1]}.to(tl.float32)"
        return
    head = re.match(r"(\w+ [-+*/]?= |return )?", text)
    assert head is not None
    yield from (" " * indent + _broken(head[0], text[head.end() :], "", indent)).split("\n")


def _broken(head: str, expression: str, tail: str, indent: int) -> str:
    """`head expression tail` over several lines; the first has no indentation."""
    if indent + len(head + expression + tail) <= WIDTH:
        return head + expression + tail
    pad = " " * (indent + 4)
    call = _call(expression)
    if call:
        function, arguments = call
        text = call_text(head + function, arguments, tail, indent)
        if all(len(one) <= WIDTH for one in text.split("\n")):
            return text
        inner = "".join(f"{pad}{_broken('', argument, ',', indent + 4)}\n" for argument in arguments)
        return f"{head}{function}(\n{inner}{' ' * indent}){tail}"
    parts = _operands(expression)
    if len(parts) == 1:
        return head + expression + tail
    if len(parts) == 2 and _call(parts[1].split(" ", 1)[1]):
        operator, last = parts[1].split(" ", 1)
        return _broken(f"{head}{parts[0]} {operator} ", last, tail, indent)
    if head and len(parts) == 2 and expression.startswith("("):
        before, inside, after = _last_brackets(expression)
        lines = f"{head}{before}(\n{pad}{_broken('', inside, '', indent + 4)}\n{' ' * indent}){after}{tail}"
        if all(len(line) <= WIDTH for line in lines.split("\n")):
            return lines
    if not head:  # within brackets already
        return f"\n{' ' * indent}".join(parts) + tail
    if len(pad + expression) <= WIDTH:
        return f"{head}(\n{pad}{expression}\n{' ' * indent}){tail}"
    return f"{head}(\n" + "".join(f"{pad}{part}\n" for part in parts) + f"{' ' * indent}){tail}"


def _last_brackets(expression: str) -> tuple[str, str, str]:
    """What stands before, in and after the last brackets that stand in no others."""
    depth, start, stop = 0, 0, 0
    for place, character in enumerate(expression):
        if character in "([":
            start = place if depth == 0 else start
            depth += 1
        elif character in ")]":
            depth -= 1
            stop = place if depth == 0 else stop
    return expression[:start], expression[start + 1 : stop], expression[stop + 1 :]


def _call(expression: str) -> tuple[str, list[str]] | None:
    """(function, arguments) where the whole expression is one call."""
    head = re.match(r"[\w.]+\(", expression)
    if not head or not expression.endswith(")"):
        return None
    inside = expression[head.end() : -1]
    depth, start, arguments = 0, 0, []
    for place, character in enumerate(inside):
        depth += (character in "([") - (character in ")]")
        if depth < 0:
            return None
        if depth == 0 and character == ",":
            arguments.append(inside[start:place].strip())
            start = place + 1
    return head[0][:-1], [*arguments, inside[start:].strip()]


def _operands(expression: str) -> list[str]:
    """The expression cut before each of its loosest operators outside brackets."""
    words: list[str] = []
    depth = 0
    for word in expression.split(" "):
        if depth:
            words[-1] += f" {word}"
        else:
            words.append(word)
        depth += sum(c in "([" for c in word) - sum(c in ")]" for c in word)
    for operators in _OPERATORS:
        if any(word in operators for word in words):
            parts: list[list[str]] = [[]]
            for word in words:
                if word in operators:
                    parts.append([])
                parts[-1].append(word)
            return [" ".join(part) for part in parts]
    return [expression]
