// Runs in VS Code's extension host: what other extensions and VS Code itself get from this one through the `vscode.*` API.
const assert = require("node:assert/strict");
const { Buffer } = require("node:buffer");
const vscode = require("vscode");
const { all, until } = require("./tests.cjs");

const ID = "kernelwright.kernelwright";
const KIND = "refactor.rewrite.optimizeKernel";
const run = (command, ...rest) => vscode.commands.executeCommand(command, ...rest);

async function opened(name) {
  const uri = vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, name);
  const document = await vscode.workspace.openTextDocument(uri);
  await vscode.window.showTextDocument(document);
  return document;
}

const lenses = (document) => run("vscode.executeCodeLensProvider", document.uri, 10);
const ours = (document) => vscode.languages.getDiagnostics(document.uri).filter((one) => one.source === "kernelwright");
const at = (document, words) => document.positionAt(document.getText().indexOf(words));
const kernel = (document, name) => ({ uri: document.uri.toString(), kernel: name });

/** A kernel whose call says that it has begun, and waits for the file `go`. */
const HELD = `import pathlib
import time

import torch


def held(x):
    pathlib.Path("begun").touch()
    while not pathlib.Path("go").exists():
        time.sleep(0.05)
    return torch.relu(x) * 2.0


# workload: held(randn(8))
`;

const TESTS = {
  "a file with a kernel activates the extension": async () => {
    await opened("softmax.py");
    await until(() => vscode.extensions.getExtension(ID)?.isActive, "the active extension");
  },

  "every contributed command is registered": async () => {
    const known = new Set(await vscode.commands.getCommands(true));
    const { contributes } = vscode.extensions.getExtension(ID).packageJSON;
    assert.deepEqual(
      contributes.commands.map(({ command }) => command).filter((command) => !known.has(command)),
      [],
    );
  },

  "the log is on the screen when the command to open it has ended": async () => {
    await run("kernelwright.openLogs");
    const seen = vscode.window.visibleTextEditors.map(({ document }) => document.uri.toString());
    assert.ok(seen.includes("output:kernelwright.kernelwright.Kernelwright"), seen.join(", "));
    await run("workbench.action.closePanel");
  },

  "every setting has its default": () => {
    const { contributes } = vscode.extensions.getExtension(ID).packageJSON;
    const properties = [contributes.configuration].flat().flatMap((one) => Object.entries(one.properties));
    for (const [name, { default: value }] of properties) {
      assert.deepEqual(vscode.workspace.getConfiguration().inspect(name).defaultValue, value, name);
    }
  },

  "a finding is a diagnostic with a quick fix": async () => {
    const document = await opened("finding.py");
    const [finding] = await until(() => ours(document).length && ours(document), "a diagnostic");
    assert.equal(document.getText(finding.range).startsWith("tl.load"), true);
    const fixes = await run("vscode.executeCodeActionProvider", document.uri, finding.range, "quickfix", 10);
    const fix = fixes.find((one) => one.edit);
    assert.ok(await vscode.workspace.applyEdit(fix.edit));
    await until(() => ours(document).length === 0, "no diagnostic after the fix");
    await run("undo");
  },

  "a kernel has a hover": async () => {
    const document = await opened("softmax.py");
    const asked = () => run("vscode.executeHoverProvider", document.uri, at(document, "softmax_kernel("));
    const words = (hovers) => hovers.flatMap((one) => one.contents.map((part) => part.value ?? part)).join("\n");
    await until(async () => /softmax_kernel.*Triton kernel/s.test(words(await asked())), "the card");
  },

  "a kernel has one lens, whose command needs no arguments": async () => {
    const document = await opened("softmax.py");
    const [lens, ...more] = await until(async () => (await lenses(document)).length && lenses(document), "a lens");
    assert.deepEqual(more, []);
    assert.match(lens.command.title, /^Optimize kernel/);
    assert.equal(lens.command.arguments, undefined);
    assert.ok((await vscode.commands.getCommands()).includes(lens.command.command));
  },

  // This API leaves out what does not apply; that it is shown with its reason is seen in the menu itself (../ui).
  "the strategies that apply are refactorings": async () => {
    const document = await opened("softmax.py");
    const where = new vscode.Range(at(document, "softmax_kernel("), at(document, "softmax_kernel("));
    const actions = await run("vscode.executeCodeActionProvider", document.uri, where, KIND);
    assert.ok(actions.some(({ title }) => /^Optimize kernel: Reduce rows online/.test(title)));
    for (const { kind, title } of actions) assert.ok(kind.value.startsWith(KIND), title);
  },

  "a strategy that is named is applied, told and taken back": async () => {
    const document = await opened("softmax.py");
    const before = document.getText();
    const about = { ...kernel(document, "softmax_kernel"), strategy: "triton.online-reduction" };
    const step = await run("kernelwright.apply", about);
    assert.equal(step.outcome, "kept");
    assert.equal(step.verdict.status, "passed");
    assert.notEqual(document.getText(), before);
    const told = (pattern) => ours(document).some((one) => pattern.test(one.message));
    await until(() => told(/Verified: passed \d+ checks/), "the verdict at the kernel");
    await run("kernelwright.revert", kernel(document, "softmax_kernel"));
    assert.equal(document.getText(), before);
  },

  "a key bound to a strategy's kind applies it": async () => {
    const document = await opened("softmax.py");
    const before = document.getText();
    const place = at(document, "softmax_kernel(");
    vscode.window.activeTextEditor.selection = new vscode.Selection(place, place);
    await run("editor.action.codeAction", { kind: `${KIND}.triton.online-reduction`, apply: "first" });
    await until(() => document.getText() !== before, "the step in the text");
    await until(() => ours(document).some((one) => /Verified/.test(one.message)), "the verdict at the kernel");
    await run("kernelwright.revert", kernel(document, "softmax_kernel"));
    assert.equal(document.getText(), before);
  },

  "a renamed file keeps its history": async () => {
    const folder = vscode.workspace.workspaceFolders[0].uri;
    await vscode.workspace.fs.copy((await opened("softmax.py")).uri, vscode.Uri.joinPath(folder, "before.py"));
    const document = await opened("before.py");
    const baseline = document.getText();
    await run("kernelwright.apply", { ...kernel(document, "softmax_kernel"), strategy: "triton.online-reduction" });
    await document.save();
    const move = new vscode.WorkspaceEdit();
    move.renameFile(document.uri, vscode.Uri.joinPath(folder, "after.py"));
    assert.ok(await vscode.workspace.applyEdit(move));
    const moved = await opened("after.py");
    assert.notEqual(moved.getText(), baseline);
    await until(() => ours(moved).some((one) => /Verified/.test(one.message)), "the verdict under the new name");
    await run("kernelwright.revert", kernel(moved, "softmax_kernel"));
    assert.equal(moved.getText(), baseline);
  },

  "settings changed during a run hold from the next one, and a wrong interpreter is told": async () => {
    const beside = (name) => vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, name);
    const write = (name, text) => vscode.workspace.fs.writeFile(beside(name), Buffer.from(text));
    const there = (name) => vscode.workspace.fs.stat(beside(name)).then(Boolean, () => false);
    await write("held.py", HELD);
    const document = await opened("held.py");
    const settings = () => vscode.workspace.getConfiguration("kernelwright", document.uri);
    const set = (name, value) => settings().update(name, value, vscode.ConfigurationTarget.Workspace);
    const verdict = () => run("kernelwright.verify", kernel(document, "held"));
    await run("kernelwright.resetBaseline", kernel(document, "held"));
    const running = verdict();
    await until(() => there("begun"), "the kernel's call");
    await set("effort", "quick");
    await set("interpreter", "/nowhere/python");
    await write("go", "");
    const { status, effort } = (await running).verdict;
    assert.deepEqual({ status, effort }, { status: "passed", effort: "standard" });
    await until(async () => (await verdict()).kind === "no-interpreter", "a failure that names the interpreter");
    await set("interpreter", undefined);
    await until(async () => (await verdict()).verdict?.effort === "quick", "a verdict of the effort that was set");
    await set("effort", undefined);
  },

  "an agent's tool answers, and one that has no answer says why": async () => {
    const call = async (name, input) => {
      const { content } = await vscode.lm.invokeTool(`kernelwright_${name}`, { input, toolInvocationToken: undefined });
      return content.map(({ value }) => value).join("");
    };
    const offered = vscode.lm.tools.filter(({ name }) => name.startsWith("kernelwright_"));
    const { contributes } = vscode.extensions.getExtension(ID).packageJSON;
    assert.equal(offered.length, contributes.languageModelTools.length);
    assert.match(await call("list_kernels", { file: "softmax.py" }), /^softmax_kernel \(triton, lines /);
    assert.match(await call("history", { file: "softmax.py" }), /online|No steps yet/i);
    await assert.rejects(call("list_kernels", { file: "absent.py" }), /absent\.py does not exist/);
    await assert.rejects(call("list_kernels", { file: "/etc/passwd" }), /outside of the workspace/);
  },

  "a refusal is an answer in words": async () => {
    const document = await opened("uncalled.py");
    const answer = await run("kernelwright.verify", { uri: document.uri.toString(), line: 0 });
    assert.equal(answer.$, "Refusal");
    assert.ok(answer.reason.length > 10);
  },

  "a server that was told to start anew answers": async () => {
    const document = await opened("softmax.py");
    await run("kernelwright.restartServer");
    await until(async () => (await lenses(document)).length === 1, "a lens of the new server");
  },
};

exports.run = () => all(TESTS);
