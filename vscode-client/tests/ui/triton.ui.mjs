// A Triton file with nothing configured: from the first squiggle to a step that is taken back, in the file and in the view.
import assert from "node:assert/strict";
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
const row = (pattern) => editor.page.locator(".pane-body .monaco-list-row").filter({ hasText: pattern }).first();
const STEP = /1\. triton\.online-reduction/;

step("a finding is underlined, explained and fixed", async () => {
  await editor.openFile("finding.py");
  await editor.page.waitForSelector(".squiggly-warning");
  await me.click("x = tl.load");
  await me.press("Control+.");
  await me.choose(/other/);
  await me.seen(".view-line", /tl\.load\(.*other=/);
  await me.press("Control+z");
  await me.seen(".view-line", /mask=columns < n_columns\)/);
});

step("the kernel has a card and a lens", async () => {
  await editor.openFile("softmax.py");
  await me.lens(/Optimize kernel/);
  await me.hover("def softmax_kernel", /softmax_kernel: Triton kernel.*Workload.*softmax\(randn\(4, 200\)\)/);
});

step("a strategy from the menu is applied with its evidence, and one undo takes it back", async () => {
  await me.press("Escape");
  await me.click("def softmax_kernel");
  await me.press("Control+Shift+R");
  await me.choose(/Reduce rows online/);
  await me.notification(/Optimize softmax_kernel/);
  await me.seen(".view-line", /tl\.exp\(row_max - /);
  await editor.page.waitForSelector(".squiggly-info");
  const before = await me.text();
  await me.press("Control+z");
  await editor.page.waitForFunction(
    (text) => globalThis.document.querySelector(".view-lines").textContent !== text,
    before,
  );
  await me.seen(".view-line", /denominator \+= tl\.sum\(tl\.exp\(x - row_max\), axis=0\)/);
});

// Without a GPU the speed of GPU code is not measured: the step is kept on its verdict alone, and says so.
step("the kernels view shows the step with strategy and verdict", async () => {
  await me.press("Control+Shift+z");
  await me.command("Show Kernels and Steps");
  await me.seen(".pane-body .monaco-list-row", /softmax_kernel.*1 kept · not measured/);
  await me.seen(".pane-body .monaco-list-row", /1\. triton\.online-reduction.*passed \d+ checks/);
});

step("its evidence can be copied and its diff shown", async () => {
  await me.menu(row(STEP), "Copy Numbers");
  const copied = await until(
    () => editor.page.evaluate(() => globalThis.navigator.clipboard.readText()),
    "the clipboard",
  );
  assert.match(copied, /^softmax_kernel: triton\.online-reduction.*\nkept, passed \d+ checks(, [a-z -]+)?\n/);
  assert.doesNotMatch(copied, /speedup/);
  await row(STEP).click();
  await me.seen(".monaco-diff-editor .view-line", /denominator \+= tl\.sum/);
  await me.seen(".monaco-diff-editor .view-line", /tl\.exp\(row_max - /);
  await me.press("Control+w");
});

step("the report shows the checks behind the verdict, and the Test Explorer has them", async () => {
  await me.menu(row(/softmax_kernel/), "Show Report");
  const report = await me.frame(/^softmax_kernel/);
  const text = await report.locator("body").innerText();
  assert.match(text, /Checks of the last kept step/);
  assert.match(text, /triton\.online-reduction\s+kept\s+not measured/);
  assert.equal(await report.locator("svg").count(), 0); // nothing was measured, so nothing is drawn
  await me.command("Testing: Focus on Test Explorer View");
  await me.seen(".test-explorer .monaco-list-row", /softmax_kernel/);
  await me.command("Show Kernels and Steps");
});

step("a step is taken back from the view", async () => {
  await me.menu(row(STEP), "Take Back This Step");
  await me.seen(".pane-body .monaco-list-row", /1\. triton\.online-reduction.*reverted/);
  await me.seen(".view-line", /denominator \+= tl\.sum\(tl\.exp\(x - row_max\), axis=0\)/);
});
