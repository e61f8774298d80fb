// The suites of ../host in a window's extension host, where the whole API of VS Code is.
import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { open } from "./editor.mjs";
import { client } from "./prepare.mjs";
import { PATIENCE_MS } from "./until.mjs";

const host = path.join(client, "tests/host");

test("what the extension gives VS Code, asked in the extension host", () => passes("suite.cjs", 15));

test("steps that a language model of VS Code's has written", () =>
  passes("language-models.cjs", 4, {
    development: [client, path.join(host, "models")],
    settings: { "kernelwright.model": "editor", "kernelwright.modelOrder": "before" },
  }));

/** Runs a suite in a window of its own; `least`: how many tests it has. */
async function passes(suite, least, { development = client, settings = {} } = {}) {
  const said = [];
  let ended;
  const end = new Promise((resolve) => (ended = resolve));
  const window = await open("softmax.py", {
    settings,
    host: {
      development,
      tests: path.join(host, suite),
      log: (words) => words.startsWith("host: ") && said.push(words.slice(6)),
      ended: (status) => ended(status),
    },
  });
  try {
    const late = new Promise((resolve) => setTimeout(resolve, PATIENCE_MS, "no answer").unref());
    const status = await Promise.race([end, late]);
    const failed = said.filter((words) => !words.startsWith("passed: "));
    assert.deepEqual(failed, []);
    assert.equal(status, 0, said.join("\n"));
    assert.ok(said.length >= least, said.join("\n"));
  } finally {
    await window.close();
  }
}
