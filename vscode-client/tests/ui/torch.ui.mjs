// PyTorch files: a step from the lens with its progress and its evidence, and a job that is cancelled.
import assert from "node:assert/strict";
import { after, before } from "node:test";
import { open, prepare, steps } from "./editor.mjs";
import { person } from "./person.mjs";

let editor;
let me;

before(async () => {
  editor = await open(prepare());
  me = person(editor.page);
});
after(() => editor?.close());

const step = steps(() => editor);

// Whether a step is kept depends on measured times, and these on what else the machine does; that it ends in words does not.
step("the lens takes a step, with progress, and its evidence is at the kernel", async () => {
  await editor.openFile("energy.py");
  await (await me.lens(/Optimize kernel/)).click();
  await me.notification(/Optimize Energy/);
  await editor.page.waitForSelector(".squiggly-info, .squiggly-warning");
  await me.hover("class Energy", /Last result: (Verified: .* faster than baseline|Reassociate was not kept)/);
});

step("a kernel that cannot be worked on says why", async () => {
  await editor.openFile("uncalled.py");
  await me.lens(/Optimize kernel/);
  await me.command("Optimize Kernel: Next Step");
  await me.notification(/workload/);
});

step("a job that is cancelled changes nothing", async () => {
  await editor.openFile("slow.py");
  const text = await me.text();
  await (await me.lens(/Optimize kernel/)).click();
  await me.notification(/Optimize slow/);
  await editor.page.locator(".notifications-toasts .monaco-button", { hasText: "Cancel" }).click();
  await me.notified(/Optimize slow/).waitFor({ state: "hidden" });
  assert.equal(await me.text(), text);
});
