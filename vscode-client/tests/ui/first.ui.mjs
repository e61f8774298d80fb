// The first minute: what happens without a server, for files without kernels, and when the server crashes.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { after, before } from "node:test";
import { open, prepare, steps, until } from "./editor.mjs";
import { person } from "./person.mjs";

let editor;
let me;

before(async () => {
  editor = await open(prepare());
  me = person(editor.page);
});
after(() => editor?.close());

const step = steps(() => editor);
const servers = () =>
  readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, "utf8");
        return line.includes("kernelwright.lsp") && line.includes(editor.root);
      } catch {
        return false; // it has ended meanwhile
      }
    })
    .map(Number);

step("a Python file without a kernel starts no server; one with a kernel does", async () => {
  await editor.openFile("plain.py");
  await me.seen(".view-line", /a file without a kernel/);
  await me.command("Kernelwright: Open Logs"); // loads the extension, and still starts nothing
  assert.deepEqual(servers(), []);
  await editor.openFile("softmax.py");
  await me.lens(/Optimize kernel/);
  assert.equal(servers().length, 1);
});

step("a server that crashes is started again by itself", async () => {
  const [crashed] = servers();
  process.kill(crashed, "SIGKILL");
  await until(() => servers().some((pid) => pid !== crashed), "another server");
  await me.lens(/Optimize kernel/);
});

step("the doctor's page says what was found", async () => {
  await me.command("Kernelwright: Doctor");
  const frame = await me.frame("Kernelwright: Doctor");
  const text = await frame.locator("body").innerText();
  assert.match(text, /Running, version/);
  assert.match(text, /Selected interpreter/);
  assert.match(text, /torch/);
});
