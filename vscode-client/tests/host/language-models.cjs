// Runs in VS Code's extension host: steps whose edits come from a language model of VS Code's.
const assert = require("node:assert/strict");
const { Buffer } = require("node:buffer");
const vscode = require("vscode");
const { all, until } = require("./tests.cjs");

const STRATEGY = "torch.reassociate.reduce-features";
const BODY = `        y = self.linear(x)
        return torch.sum(y, dim=1, keepdim=True)`;
const TEXT = `import torch
from torch import nn


class Score(nn.Module):
    def __init__(self, features: int, width: int):
        super().__init__()
        self.linear = nn.Linear(features, width)

    def forward(self, x):
${BODY}


# workload: Score(512, 640)(randn(384, 512))
`;
const RIGHT = `The sum moves into the weights.

<<<<<<< SEARCH
${BODY}
=======
        weight, bias = self.linear.weight.sum(0), self.linear.bias.sum()
        return (x @ weight + bias)[:, None]
>>>>>>> REPLACE
`;
const run = (command, ...rest) => vscode.commands.executeCommand(command, ...rest);

async function opened(name) {
  const uri = vscode.Uri.joinPath(vscode.workspace.workspaceFolders[0].uri, name);
  await vscode.workspace.fs.writeFile(uri, Buffer.from(TEXT));
  const document = await vscode.workspace.openTextDocument(uri);
  await vscode.window.showTextDocument(document);
  return { document, about: { uri: uri.toString(), kernel: "Score", strategy: STRATEGY } };
}

/** The scripted model, with these answers to come. */
async function script(...answers) {
  const extension = vscode.extensions.getExtension("kernelwright-tests.scripted-models");
  const found = await extension.activate();
  Object.assign(found, { answers, ended: false });
  return found;
}

const TESTS = {
  "an answer of VS Code's model becomes a step": async () => {
    const models = await script(RIGHT.match(/.{1,20}/gs));
    const { document, about } = await opened("kept.py");
    const step = await run("kernelwright.apply", about);
    const known = (await vscode.lm.selectChatModels()).map(({ id }) => id);
    const setting = vscode.workspace.getConfiguration("kernelwright").get("model");
    assert.equal(
      step.author,
      "editor",
      JSON.stringify({ known, setting, usage: step.usage, asked: models.asked.length }),
    );
    assert.equal(step.outcome, "kept", step.reason);
    assert.match(document.getText(), /\(x @ weight \+ bias\)\[:, None\]/);
    const [asked] = models.asked;
    assert.equal(asked.length, 2);
    assert.match(asked[1], /return torch\.sum\(y, dim=1, keepdim=True\)/);
  },

  "a stop ends the step within a second and changes nothing": async () => {
    const models = await script("endless");
    const before = models.asked.length;
    const { document, about } = await opened("stopped.py");
    const running = run("kernelwright.apply", about);
    await until(() => models.asked.length > before, "the question");
    const began = Date.now();
    await run("kernelwright.stop");
    await running;
    assert.ok(Date.now() - began < 1500, `${Date.now() - began} ms`);
    models.ended = true;
    assert.equal(document.getText(), TEXT);
  },

  "where the model fails a rule takes the step": async () => {
    await script(new Error("The quota is used up."));
    const { about } = await opened("failed.py");
    const step = await run("kernelwright.apply", about);
    assert.deepEqual([step.author, step.outcome], ["deterministic", "kept"], step.reason);
  },

  "the first of VS Code's models is chosen from the list": async () => {
    const [{ id }] = await vscode.lm.selectChatModels();
    const model = () => vscode.workspace.getConfiguration("kernelwright").inspect("model").globalValue;
    let value;
    const chosen = run("kernelwright.chooseModel").then((answer) => (value = answer));
    await until(async () => {
      await run("workbench.action.acceptSelectedQuickOpenItem");
      return value !== undefined;
    }, "the choice");
    await chosen;
    assert.equal(value, `editor:${id}`);
    assert.equal(model(), value);
    const { about } = await opened("chosen.py");
    await script([RIGHT]);
    const step = await run("kernelwright.apply", about);
    assert.deepEqual([step.author, step.outcome], [value, "kept"], step.reason);
  },
};

exports.run = () => all(TESTS);
