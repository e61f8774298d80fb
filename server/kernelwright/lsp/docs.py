"""The pages on settings and on the protocol, and the settings' JSON schema, written from the code."""

import dataclasses
import inspect
from typing import Any

from kernelwright.lsp import configuration
from kernelwright.settings import Settings

_JSON_TYPES = {bool: "boolean", int: "integer", float: "number", str: "string"}


def settings_schema() -> dict[str, object]:
    """The `configuration` that an editor's extension contributes."""
    return {
        "title": "Kernelwright",
        "type": "object",
        "properties": {f"{configuration.SECTION}.{configuration.name(f)}": _entry(f) for f in _fields()},
    }


def settings_page() -> str:
    rows = [
        "# Settings",
        "",
        "An editor asks for them under the section `kernelwright` (`workspace/configuration`), or sends them with",
        "`workspace/didChangeConfiguration` or as initialization options. A malformed setting is named in a message, and",
        "its default is used. This page is generated from the code.",
        "",
    ]
    for field in _fields():
        choices, minimum = field.metadata["choices"], field.metadata["minimum"]
        rows += [f"## `{configuration.SECTION}.{configuration.name(field)}`", "", str(field.metadata["words"]), ""]
        rows.append(f"- Type: {_JSON_TYPES[type(field.default)]}")
        rows.append(f"- Default: `{_shown(field.default)}`")
        if choices:
            rows.append(f"- One of: {', '.join(f'`{choice}`' for choice in choices)}")
        if minimum is not None:
            rows.append(f"- Least: {minimum:g}")
        rows.append("")
    return "\n".join(rows).rstrip() + "\n"


def protocol_page() -> str:
    from kernelwright.languages import LANGUAGES
    from kernelwright.lsp.commands import COMMANDS
    from kernelwright.lsp.server import FEATURES

    languages = ", ".join(f"`{id}` for {row.title}" for id, row in LANGUAGES.items())
    introduction = _INTRODUCTION.format(languages=languages).strip()
    rows = [introduction, "", "## Methods", "", "| method | what it shows |", "|---|---|"]
    documented = {method: _first_line(handler) for method, handler, _ in FEATURES}
    rows += [f"| `{method}` | {words} |" for method, words in {**_METHODS, **documented}.items() if words]
    rows += ["", "## Commands", "", _ARGUMENTS.strip(), "", "| command | answer |", "|---|---|"]
    rows += [f"| `{name}` | {_first_line(command)} |" for name, command in COMMANDS.items()]
    rows += ["", _MODELS.strip(), "", _RESULTS.strip(), ""]
    return "\n".join(rows)


def _fields() -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(Settings)


def _entry(field: dataclasses.Field[Any]) -> dict[str, object]:
    entry: dict[str, object] = {
        "type": _JSON_TYPES[type(field.default)],
        "default": field.default,
        "markdownDescription": field.metadata["words"],
    }
    if field.metadata["choices"]:
        entry["enum"] = list(field.metadata["choices"])
    if field.metadata["minimum"] is not None:
        entry["minimum"] = field.metadata["minimum"]
    return entry


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else f"{value}"


def _first_line(handler: object) -> str:
    return (inspect.getdoc(handler) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")


_INTRODUCTION = """
# The protocol

Kernelwright speaks the Language Server Protocol 3.17 on stdin and stdout (`kernelwright serve`): all it does can be
reached from any client. Methods of its own are for the language models of an editor alone. Positions are counted in the
encoding that the client prefers (utf-8, utf-16 or utf-32). This page is generated from the code.

The `languageId` in `textDocument/didOpen` chooses the language, whatever the file is called: {languages}. A document
with another id has no kernels and no findings, and a command on it is answered with a `Refusal` that says so.
"""

_METHODS = {
    "textDocument/publishDiagnostics": "Results of kernels at their names, wrong workload lines, strings of CUDA C++ that are "
    "not read, compile errors of CUDA C++, findings.",
    "textDocument/diagnostic": "The same, for a client that pulls and supports `workspace/diagnostic/refresh`; "
    "nothing is pushed to it then.",
    "window/workDoneProgress": "Every job over half a second, its stages in words; a cancel works within a second.",
    "$/cancelRequest": "Ends the job of a command within a second; nothing is applied or journalled. An edit that the editor "
    "has been sent already is still answered with its step.",
    "textDocument/didChange": "An edit ends a job at once whose result would be of no use: a step, since its edits are for the "
    "text that it began with; a verification, measurement or profile, if the kernel or what it depends on has changed.",
    "workspace/applyEdit": "A kept step, as one versioned edit annotated with its strategy. If the text has changed since the "
    "step began, nothing is applied and the person is asked whether to run it again.",
    "window/showMessageRequest": "The offer to run a job again on the text as it is now.",
}

_ARGUMENTS = """
Each takes one argument, an object. `uri` is the file, which must be open; `kernel` names the kernel, or `line` (from 0)
points into it; neither is needed where the workload calls one kernel. A kernel of another file that this one launches can be
named, too. `strategy` is the id of a strategy, `step` of a step,
`script` the path of the test or script that `record` runs, one of those that `callers` answers with.
`quiet: true` leaves out the message window of `profile`, `history` and `doctor`. A step of `history` says
by `measured` whether its number may be said; with `texts: true` it has the file `before` and `after` it, where the journal
still knows them: two files as one text, with a line between them. `preview: true` lets an editor that knows change annotations
show a step's edit before it is made; where that changes two documents, a message asks instead. With `detached: true` a request
without a progress token is answered at once, with null: editors that wait for the answer would stop for as long as the job
takes. The commands of code actions and
lenses have it; edits, diagnostics and messages say what came of them. Other answers are values in JSON, each with its class
under `$`; a `Refusal` or `Failure` says in words why there is no other answer.

`tool` is for the agent of an editor, which brings its own model. Its argument is `{"name": …, "arguments": …}`: the name
of one of the [tools](agents.md#the-tools), and what that takes. It looks at the files as they lie on the disk, and writes
to these.
"""

_MODELS = """
## The editor's language models

A client that has language models declares `experimental.kernelwrightLanguageModels`, and is asked where the setting
`kernelwright.model` says so.

| message | what it is for |
|---|---|
| `kernelwright/lm/complete` | Asked of the client: the answer (`text`, `model`) to `messages`, under an `id`. |
| `kernelwright/lm/part` | Told by the client: more `text` of the answer with that `id`, while it is being written. |
| `kernelwright/lm/cancel` | Told to the client: nobody waits for the answer with that `id` any longer. |
| `kernelwright/lm/key` | Told by the client: the `key` of a hosted model, from the editor's secret storage. |
"""

_RESULTS = """
## Diagnostics of a kernel

All have the source `kernelwright`; the code is the id of a strategy, a check or a finding.

| severity | what it says |
|---|---|
| Information | The text is verified; with a speedup where one was measured. Or: a step brought no gain and was not kept |
| Error | A check fails on the text as it is: with its numbers, case and seed; related information at the edit |
| Error, `compile-error` | CUDA C++ does not compile: for g++ on opening and 0.4 s after a key, for nvcc, if there, on saving |
| Warning, `cuda.out-of-bounds` or `cuda.write-race` | A witness that z3, if installed, finds 0.4 s after a key |
| Information, `missing-header` | An include was not found, so the rest was not compiled |
| Warning | Stale: the kernel was changed after it was verified. Or: a step failed the gate and was not kept. Or: a finding |
| Hint | A finding with a quick fix |
"""
