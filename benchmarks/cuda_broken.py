"""Whether compile errors in CUDA C++ are told at the broken line: `python -m benchmarks.cuda_broken PLACE… [--files N]`.

In copies of files that compile here, drawn by chance, a `;` is left out, a name is misspelt, or a brace is dropped, each in
the body of a function. Counted are the copies of which the first error that is told, as after a pause in typing, stands on
the broken line or, for what is missing, on the one behind it.
"""

import argparse
import random
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.cuda_files import SUPPORT, files_of

from kernelwright.proof.worker.toolchain.checking import compile_errors
from kernelwright.source.cpp import functions_of, tokens_of


def broken(text: str, random_: random.Random) -> Iterator[tuple[str, str, int]]:
    """Copies with one place broken: what was done, the copy, and the line."""
    tokens = tokens_of(text)
    inside = [tokens[at] for one in functions_of(text) for at in range(one.tokens[0] + 1, one.tokens[1])]
    names = [one for one in inside if re.fullmatch(r"[a-z]\w{2,}", one.text) and len(re.findall(one.text, text)) > 1]
    choices = {
        "a semicolon is missing": [one for one in inside if one.text == ";"],
        "a name is misspelt": names,
        "a brace is missing": [one for one in inside if one.text in ("{", "}")],
    }
    for what, places in choices.items():
        if places:
            token = random_.choice(places)
            new = f"{token.text}_zz" if what.startswith("a name") else ""
            yield what, text[: token.start] + new + text[token.end :], token.line


def first_line(file: Path, text: str) -> int | None:
    """The line of the first error that is told of a text: by its syntax, or by the compiler."""
    problem = SUPPORT.syntax_problem(text)
    errors = compile_errors(str(file), text, quick=True) or ()
    lines = [one.line for one in errors] + ([problem.line] if problem is not None else [])
    return min(lines, default=None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", type=Path, nargs="+")
    parser.add_argument("--files", type=int, default=20)
    options = parser.parse_args()
    random_, asked, told, right, used = random.Random(1), Counter[str](), Counter[str](), Counter[str](), 0
    files = list(files_of(options.places, 0))
    random_.shuffle(files)
    for file in files:
        text = file.read_text(encoding="utf-8", errors="replace")
        if used == options.files or compile_errors(str(file), text, quick=True) != ():
            continue
        used += 1
        for what, copy, line in broken(text, random_):
            found = first_line(file, copy)
            asked[what] += 1
            told[what] += found is not None
            after = copy.split("\n")[line + 1 :]
            behind = next((n for n, one in enumerate(after, line + 1) if one.strip()), line)
            right[what] += found in ((line, behind) if "missing" in what else (line,))
    print(f"{used} files")
    for what, count in asked.items():
        print(f"{what}: {count} copies, an error of {told[what]}, at the right line of {right[what]}")


if __name__ == "__main__":
    main()
