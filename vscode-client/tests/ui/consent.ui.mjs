// A machine whose Python has no Kernelwright: one question, then a server of the extension's own. Needs a package index.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { after, before } from "node:test";
import { open, prepare, steps } from "./editor.mjs";
import { person } from "./person.mjs";

let editor;
let me;

before(async () => {
  editor = await open(prepare(), { bare: true, env: { PYTHONPATH: "" } });
  me = person(editor.page);
});
after(() => editor?.close());

const step = steps(() => editor);
const managed = () => path.join(editor.root, "data/User/globalStorage/kernelwright.kernelwright/server");

step("nothing is made before the person agrees", async () => {
  await editor.openFile("softmax.py");
  await me.notification(/Kernelwright is not installed in .*Create an environment/);
  assert.equal(existsSync(managed()), false);
});

step("the environment is made and its server serves", async () => {
  await editor.page.locator(".notifications-toasts .monaco-button", { hasText: "Create Environment" }).click();
  await me.lens(/Optimize kernel/);
  assert.equal(existsSync(path.join(managed(), "kernelwright-wheel.sha256")), true);
});

step("the person is not asked again", async () => {
  await editor.openFile("finding.py");
  await editor.page.waitForSelector(".squiggly-warning");
  assert.equal(await me.notified(/Create an environment/).count(), 0);
});
