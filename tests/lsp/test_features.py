"""What an editor shows of a file without running anything."""

import asyncio
from pathlib import Path

import pytest
from lsprotocol import types as lsp
from pytest_lsp import client_capabilities

from lsp.editor import PATIENCE, Editor, start, start_with, stop
from lsp.examples import LINEAR_SUM, PLAIN, SOFTMAX

OPTIMIZE = "refactor.rewrite.optimizeKernel"
UNSEEN = LINEAR_SUM.replace("are only ever summed", "nobody has run")  # so no op graph of it is known


async def test_hover_shows_the_card(editor: Editor) -> None:
    uri = editor.open("softmax.py", SOFTMAX)
    card = await editor.hover(uri, "softmax_kernel(")
    assert "softmax_kernel" in card
    assert "Triton kernel" in card
    assert "softmax(randn(16, 100))" in card
    assert "Baseline: the file as it is" in card
    assert await editor.hover(uri, "mask = columns") == ""


async def test_hover_explains_a_word_of_a_workload_line(editor: Editor) -> None:
    uri = editor.open("softmax.py", SOFTMAX)
    assert "Normally distributed numbers" in await editor.hover(uri, "randn(16")
    assert await editor.hover(uri, "16, 100") == ""


@pytest.mark.parametrize(
    ("typed", "offered", "absent"),
    [
        ("", "softmax", "randn"),
        ("softmax(", "randint", "softmax"),
        ("softmax(randn(8, 16, ", "layout", "float16"),
        ("softmax(randn(8, 16, dtype=", "bfloat16", "randn"),
        ("softmax(randn(8, 16, layout=trans", "channels_last", "bfloat16"),
    ],
)
async def test_completion_in_a_workload_line(editor: Editor, typed: str, offered: str, absent: str) -> None:
    uri = editor.open("softmax.py", f"{SOFTMAX}# \u00e4\n# workload: {typed}\n")
    labels = [
        item.label for item in await editor.completions(uri, f"# workload: {typed}\n", len(f"# workload: {typed}"))
    ]
    assert offered in labels
    assert absent not in labels
    assert await editor.completions(uri, "mask = columns", 4) == []


async def test_a_document_goes_by_its_language_and_not_by_its_name(editor: Editor) -> None:
    python = editor.open("softmax.txt", SOFTMAX)
    assert "Triton kernel" in await editor.hover(python, "softmax_kernel(")
    other = editor.open("softmax.py", f"// workload: f(1)\n{SOFTMAX}", "rust")
    assert await editor.hover(other, "softmax_kernel(") == ""
    assert await editor.diagnostics(other) == []
    answer = await editor.command("kernelwright.optimize", {"uri": other})
    said = "This file is of a kind that Kernelwright does not read (rust); choose a file in Python (.py) or "
    assert f"{said}CUDA C++ (.cu, .cuh)." in str(answer)


async def test_the_menu_of_a_kernel(editor: Editor) -> None:
    uri = editor.open("model.py", UNSEEN)
    actions = await editor.actions(uri, "Model(", "refactor")
    assert actions[0].title == "Optimize kernel: next step"
    assert str(actions[0].kind) == OPTIMIZE
    assert actions[0].command.command == "kernelwright.optimize"
    assert all(str(action.kind).startswith(OPTIMIZE) for action in actions)
    assert sum(bool(action.is_preferred) for action in actions) == 1
    assert all(action.command or action.disabled for action in actions)
    of_rules = [a for a in actions if str(a.kind).startswith(f"{OPTIMIZE}.torch.reassociate")]
    assert [a.command.arguments[0]["strategy"] for a in of_rules] == ["torch.reassociate"], (
        "one while no graph is known"
    )


async def test_kinds_are_asked_for_by_their_prefix(code: Editor) -> None:
    uri = code.open("model.py", UNSEEN)
    assert await code.actions(uri, "Model(", "source") == []
    assert await code.actions(uri, "Model(", "refactor.extract") == []
    one = await code.actions(uri, "Model(", f"{OPTIMIZE}.torch.reassociate")
    assert [str(action.kind) for action in one] == [f"{OPTIMIZE}.torch.reassociate"]


async def test_what_does_not_apply_is_disabled_with_the_reason(code: Editor) -> None:
    uri = code.open("softmax.py", SOFTMAX)
    refused = [action for action in await code.actions(uri, "softmax_kernel(", OPTIMIZE) if action.disabled]
    assert refused
    assert all(len(action.disabled.reason) > 15 and action.command is None for action in refused)


@pytest.mark.parametrize("call", ["torch.relu(x)", "F.gelu(x, approximate='tanh')", "x.tanh()"])
async def test_nothing_is_offered_for_one_operation(code: Editor, call: str) -> None:
    """The text says it, before anything has run."""
    head = "import torch\nimport torch.nn.functional as F\n\n\n# workload: f(randn(64, 64))\n"
    uri = code.open("one.py", f'{head}def f(x):\n    """Of each."""\n    return {call}\n')
    actions = await code.actions(uri, "f(x):", OPTIMIZE)
    assert [one.title for one in actions if one.disabled is None] == []
    reasons = [one.disabled.reason for one in actions if one.title.startswith("Optimize kernel: Fuse")]
    assert len(reasons) > 3
    assert all(one.startswith("Eager mode runs ") for one in reasons)


@pytest.mark.parametrize(
    "call", ["torch.softmax(x, -1)", "torch.relu(x) * 2", "ops.relu(x)", "torch.relu(x + 1)", "relu(x)"]
)
async def test_what_the_text_does_not_tell_is_looked_for(code: Editor, call: str) -> None:
    own = "def relu(x):\n    return x.exp() * x\n"
    head = f"import torch\nimport ops\n\n\n{own}\n\n# workload: f(randn(64, 64))\n"
    uri = code.open("more.py", f"{head}def f(x):\n    return {call}\n")
    actions = await code.actions(uri, "f(x):", OPTIMIZE)
    assert "Optimize kernel: Fuse pointwise operations" in [one.title for one in actions if one.disabled is None]


async def test_a_strategy_that_is_switched_off_says_so(tmp_path: Path) -> None:
    editor = await start(tmp_path, disabledStrategies="torch.reassociate, torch.magic")
    await editor.until(editor.messages)
    (said,) = editor.messages()
    assert said.startswith("kernelwright.disabledStrategies names 'torch.magic', which there is not; choose from cuda.")
    uri = editor.open("model.py", LINEAR_SUM)
    reasons = [one.disabled.reason for one in await editor.actions(uri, "Model", OPTIMIZE) if one.disabled]
    assert "Switched off in the settings; it runs where it is asked for by name." in reasons
    await stop(editor)


async def test_editors_that_show_no_reason_get_no_disabled_action(tmp_path: Path) -> None:
    editor = await start(tmp_path, "neovim")
    uri = editor.open("softmax.py", SOFTMAX)
    assert all(action.disabled is None for action in await editor.actions(uri, "softmax_kernel(", OPTIMIZE))
    await stop(editor)


async def test_a_kernel_without_a_workload(code: Editor) -> None:
    uri = code.open("scaled.py", PLAIN.split("# workload")[0])
    actions = await code.actions(uri, "scaled(", OPTIMIZE)
    assert all(action.disabled for action in actions)
    assert "workload" in actions[0].disabled.reason
    assert "No workload" in await code.hover(uri, "scaled(")


async def test_a_finding_is_fixed(editor: Editor) -> None:
    uri = editor.open("softmax.py", SOFTMAX.replace(', other=-float("inf")', ""))
    first = await editor.actions(uri, "tl.load", "quickfix")  # asked for, so not only once it is shown
    await editor.diagnostics(uri, lambda shown: any("other" in d.message for d in shown))
    shown = [a for a in await editor.actions(uri, "tl.load") if a.kind == lsp.CodeActionKind.QuickFix]
    assert [action.title for action in shown] == [action.title for action in first] != []
    assert all(action.diagnostics for action in shown)
    fix = shown[0] if shown[0].edit else await editor.client.code_action_resolve_async(shown[0])
    assert editor.make(fix.edit)
    assert "other=" in editor.texts[uri]


async def test_a_lens_above_each_kernel(code: Editor) -> None:
    uri = code.open("both.py", LINEAR_SUM + "\n\n" + PLAIN)
    lenses = await code.lenses(uri)
    assert [lens.command.arguments[0]["kernel"] for lens in lenses] == ["Model", "scaled"]
    assert all(lens.command.title.startswith("Optimize kernel") for lens in lenses)


async def test_lenses_can_be_switched_off(tmp_path: Path) -> None:
    editor = await start(tmp_path, codeLens=False)
    uri = editor.open("model.py", LINEAR_SUM)
    async with asyncio.timeout(PATIENCE):
        while await editor.lenses(uri):
            await asyncio.sleep(0.02)
    await stop(editor)


async def test_findings_while_typing(editor: Editor) -> None:
    uri = editor.open("softmax.py", SOFTMAX)
    before = await editor.diagnostics(uri)
    assert [d.message for d in before if d.severity == lsp.DiagnosticSeverity.Warning] == []
    editor.type(uri, ', other=-float("inf"))', ")")
    found = await editor.diagnostics(uri, bool)
    assert all(d.source == "kernelwright" and d.code for d in found)
    assert any(editor.marked(uri, d).startswith("tl.load(") for d in found)


async def test_findings_can_be_switched_off(tmp_path: Path) -> None:
    editor = await start(tmp_path, findings=False)
    uri = editor.open("softmax.py", SOFTMAX.replace(', other=-float("inf"))', ")"))
    await editor.diagnostics(uri, lambda shown: not shown)
    await stop(editor)


async def test_a_wrong_workload_line_is_marked_at_its_column(editor: Editor) -> None:
    uri = editor.open("scaled.py", "# ünïcödé 😋\n" + PLAIN.replace("randn(64, 64)", "rndn(64, 64)"))
    found = await editor.diagnostics(uri, lambda shown: any(d.code == "workload" for d in shown))
    assert [editor.marked(uri, d) for d in found if d.code == "workload"] == ["rndn"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
async def test_positions_in_every_encoding(tmp_path: Path, encoding: str, ending: str) -> None:
    capabilities = client_capabilities("visual_studio_code")
    capabilities.general.position_encodings = [encoding]
    editor = await start_with(tmp_path, capabilities)
    assert editor.encoding == encoding
    text = 's = "😋é𝛼"; ' + PLAIN.replace("def scaled", "def scäled").replace("scaled(randn", "scäled(𝛼)  # randn")
    uri = editor.open("file.py", text.replace("\n", ending))
    found = await editor.diagnostics(uri, lambda shown: any(d.code == "workload" for d in shown))
    assert [editor.marked(uri, d) for d in found if d.code == "workload"] == ["𝛼"]
    editor.type(uri, "😋é", "é😋😋")
    editor.type(uri, "(𝛼)", "(randn(4, 4))")
    await editor.diagnostics(uri, lambda shown: not any(d.code == "workload" for d in shown))
    assert "scäled(randn(4, 4))" in await editor.hover(uri, "scäled(x")
    await stop(editor)


async def test_an_empty_file(editor: Editor) -> None:
    uri = editor.open("empty.py", "")
    assert await editor.diagnostics(uri) == []
    params = lsp.HoverParams(lsp.TextDocumentIdentifier(uri), lsp.Position(0, 0))
    assert await editor.client.text_document_hover_async(params) is None
    assert await editor.lenses(uri) == []
    answer = await editor.command("kernelwright.optimize", {"uri": uri})
    assert answer["$"] == "Refusal"
    assert "no kernel" in answer["reason"]


async def test_half_typed_code_is_no_error(code: Editor) -> None:
    uri = code.open("softmax.py", SOFTMAX)
    await code.diagnostics(uri)
    code.type(uri, "tl.exp(x - tl.max(x, axis=0))", "tl.exp(x - tl.max(x, ax")
    await code.hover(uri, "softmax_kernel(")
    code.type(uri, "def softmax_kernel(x_ptr, y_ptr,", "def softmax_ker(")
    await code.actions(uri, "softmax_ker(")
    assert not [message for message in code.messages() if "Error" in message]


async def test_a_file_of_fifty_thousand_lines(code: Editor) -> None:
    filler = "".join(f"value_{number} = {number}\n" for number in range(50_000))
    uri = code.open("long.py", SOFTMAX + filler)
    await code.diagnostics(uri)
    code.type(uri, "value_49999", "renamed")
    assert "softmax_kernel" in await code.hover(uri, "softmax_kernel(")
    code.type(uri, ', other=-float("inf"))', ")")
    await code.diagnostics(uri, bool)


async def test_closing_a_file_drops_its_diagnostics(editor: Editor) -> None:
    uri = editor.open("scaled.py", PLAIN.replace("randn(64, 64)", "rndn(64, 64)"))
    await editor.diagnostics(uri, bool)
    editor.close(uri)
    await editor.diagnostics(uri, lambda shown: not shown)
    answer = await editor.command("kernelwright.verify", {"uri": uri})
    assert "not open" in answer["reason"]


async def test_a_deleted_file_has_no_diagnostics(code: Editor) -> None:
    uri = code.open("scaled.py", PLAIN.replace("randn(64, 64)", "rndn(64, 64)"))
    await code.diagnostics(uri, bool)
    code.client.workspace_did_delete_files(lsp.DeleteFilesParams([lsp.FileDelete(uri)]))
    await code.diagnostics(uri, lambda shown: not shown)


async def test_malformed_settings_are_named_and_defaults_used(tmp_path: Path) -> None:
    editor = await start(tmp_path, codeLens="yes")
    await editor.until(editor.messages)
    assert editor.messages() == [
        "kernelwright.codeLens should be true or false, not 'yes'; the default true is used.",
    ]
    uri = editor.open("model.py", LINEAR_SUM)
    assert len(await editor.lenses(uri)) == 1
    editor.client.set_configuration({"codeLens": False}, section="kernelwright")
    editor.client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams(settings=None))
    async with asyncio.timeout(PATIENCE):
        while await editor.lenses(uri):
            await asyncio.sleep(0.02)
    await stop(editor)


async def test_a_client_that_pulls_is_not_pushed_to(tmp_path: Path) -> None:
    capabilities = client_capabilities("visual_studio_code")
    capabilities.text_document.diagnostic = lsp.DiagnosticClientCapabilities()
    capabilities.workspace.diagnostics = lsp.DiagnosticWorkspaceClientCapabilities(refresh_support=True)
    editor = await start_with(tmp_path, capabilities)
    uri = editor.open("scaled.py", PLAIN.replace("randn(64, 64)", "rndn(64, 64)"))
    await editor.until(lambda: editor.client.diagnostic_refresh_count)
    params = lsp.DocumentDiagnosticParams(lsp.TextDocumentIdentifier(uri))
    report = await editor.client.text_document_diagnostic_async(params)
    assert [item.code for item in report.items] == ["workload"]
    assert uri not in editor.client.diagnostics
    await stop(editor)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "needs one argument"),
        ([{"kernel": "Model"}], "needs one argument"),
        ([{"uri": "file:///nowhere.py"}], "not open"),
        ([{"uri": "file:///nowhere.py", "kernel": 3}], "'kernel' should be str"),
    ],
)
async def test_commands_with_wrong_arguments(code: Editor, arguments: list[object], reason: str) -> None:
    answer = await code.command("kernelwright.optimize", *arguments)
    assert answer["$"] == "Refusal"
    assert reason in answer["reason"]
    assert any(reason in message for message in code.messages())


async def test_the_kernel_is_found_by_line_or_name(code: Editor) -> None:
    uri = code.open("both.py", LINEAR_SUM + "\n\n" + PLAIN)
    answer = await code.command("kernelwright.revert", {"uri": uri})
    assert "several kernels" in answer["reason"]
    for asked in ({"kernel": "Model"}, {"line": 5}):
        answer = await code.command("kernelwright.revert", {"uri": uri, **asked})
        assert answer["reason"] == "Model has no kept step that could be taken back."
    answer = await code.command("kernelwright.revert", {"uri": uri, "kernel": "nothing"})
    assert "Model, scaled" in answer["reason"]


async def test_one_hint_for_all_kernels_without_a_workload(editor: Editor) -> None:
    scaled = PLAIN.split("# workload")[0]
    uri = editor.open("scaled.py", scaled + scaled.replace("def scaled", "def other"))
    found = await editor.diagnostics(uri, lambda shown: any(d.code == "no-workload" for d in shown))
    (hint,) = [d for d in found if d.code == "no-workload"]
    assert editor.marked(uri, hint) == "scaled"
    assert hint.message.startswith("2 kernels of this file have no workload, scaled for one. `kernelwright record -- ")
    assert "No workload" in await editor.hover(uri, "other(")
