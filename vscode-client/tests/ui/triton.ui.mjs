// A Triton file with nothing configured: from the first squiggle to a step that is taken back, in the file and in the view.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import path from "node:path";
import { illegible } from "./contrast.mjs";
import { scene } from "./scene.mjs";
import { BASELINE, ONLINE, ROWS } from "./softmax.mjs";
import { inEachTheme } from "./themes.mjs";
import { until } from "./until.mjs";

const STEP = /1\. triton\.online-reduction/;
const row = (page, pattern) => page.locator(ROWS).filter({ hasText: pattern }).first();

scene("a Triton file", "finding.py", {}, (step) => {
  const saved = (workspace) => readFileSync(path.join(workspace, "softmax.py"), "utf8");
  let baseline;

  step("a finding is underlined, explained and fixed", async ({ page, me, picture }) => {
    await page.waitForSelector(".squiggly-warning");
    await me.hover("x = tl.load", /kernelwright/, "load");
    await picture("finding", { height: 390 });
    await me.press("Escape");
    await me.actions("x = tl.load", /other/, "Control+.");
    await me.choose(/other/);
    await me.seen(".view-line", /tl\.load\(.*other=/);
    await me.press("Control+z");
    await me.seen(".view-line", /mask=columns < n_columns\)/);
  });

  step("the kernel has a card and a lens", async ({ me, picture, workspace }) => {
    baseline = saved(workspace);
    await me.openFile("softmax.py");
    await me.lens(/Optimize kernel/);
    await me.hover("def softmax_kernel", /softmax_kernel: Triton kernel.*Workload.*softmax\(randn\(4, 200\)\)/);
    await picture("card");
    await me.press("Escape");
  });

  step("the menu has every strategy, with the reason where one does not apply", async ({ page, me, picture }) => {
    await me.actions("def softmax_kernel", /Reduce rows online/);
    await me.showDisabled();
    await me.seen(".action-widget .option-disabled", /Tune launch constants \(.*GPU.*\)/);
    await picture("menu");
    await me.press("Escape");
    const entry = /Tune launch constants.*triton\.tune-launch.*GPU/;
    const quick = ".quick-input-widget";
    const menu = async (soon) => {
      await me.seen(`${quick} .monaco-list-row`, /Reduce rows online/, soon);
      await page.locator(`${quick} input`).first().fill("Tune launch"); // the list holds the rows that fit alone
      await me.seen(`${quick} .monaco-list-row`, entry, soon);
    };
    await me.command("Optimize Kernel: Apply Strategy…", menu);
    await me.press("Escape");
  });

  step("a strategy from the menu is applied, with progress", async ({ me, picture }) => {
    const stage = /Optimize softmax_kernel: \w/; // in words
    await me.refactor("def softmax_kernel", /Reduce rows online/, (soon) => me.notification(stage, soon));
    await picture("progress", { height: 720 });
    await me.seen(".view-line", ONLINE);
    await me.atPeace();
  });

  step("the checks are told at the kernel", async ({ page, me, picture }) => {
    await page.waitForSelector(".squiggly-info");
    await me.hover("def softmax_kernel", /Verified: passed \d+ checks.*speed not measured: no GPU here/);
    await picture("verdict");
    await me.press("Escape");
  });

  step("one undo takes it back", async ({ me, workspace }) => {
    await me.click("def softmax_kernel");
    await me.press("Control+s");
    await until(() => ONLINE.test(saved(workspace)), "the step in the file");
    await me.press("Control+z");
    await me.seen(".view-line", BASELINE);
    await me.press("Control+s");
    await until(() => saved(workspace) === baseline, "the file as it was");
    await me.press("Control+Shift+z");
    await me.seen(".view-line", ONLINE);
  });

  // Without a GPU the speed of GPU code is not measured: the step is kept on its verdict alone, and says so.
  step("the kernels view shows the step with strategy and verdict", async ({ me }) => {
    await me.command("Show Kernels and Steps", (soon) => me.seen(ROWS, /softmax_kernel.*1 kept · not measured/, soon));
    await me.seen(ROWS, /1\. triton\.online-reduction.*passed \d+ checks/);
  });

  step("its evidence can be copied and its diff shown", async ({ page, me }) => {
    const clipboard = () => page.evaluate(() => globalThis.navigator.clipboard.readText());
    await me.menu(row(page, STEP), "Copy Numbers", () => until(clipboard, "the clipboard"));
    const copied = await clipboard();
    assert.match(copied, /^softmax_kernel: triton\.online-reduction.*\nkept, passed \d+ checks(, [a-z -]+)?\n/);
    assert.doesNotMatch(copied, /speedup/);
    await row(page, STEP).click();
    await me.seen(".monaco-diff-editor .view-line", BASELINE);
    await me.seen(".monaco-diff-editor .view-line", ONLINE);
    await me.press("Control+w");
    await page.locator(".monaco-diff-editor").waitFor({ state: "hidden" });
  });

  step("the step becomes a script that runs without Kernelwright", async ({ page, me }) => {
    const title = /^"""softmax_kernel: triton\.online-reduction/;
    await me.menu(row(page, STEP), "Export as Script", (soon) => me.seen(".view-line", title, soon));
    const script = page.locator(".view-line", { hasText: '"""softmax_kernel:' });
    await me.command("View: Revert and Close Editor", (timeout) => script.waitFor({ state: "hidden", timeout }));
  });

  step("the report shows the checks behind the verdict", async ({ page, me }) => {
    const opened = (soon) => me.seen(".tab", /Report: softmax_kernel/, soon);
    await me.menu(row(page, /softmax_kernel/), "Show Report", opened);
    const read = async (frame) => [await frame.locator("body").innerText(), await frame.locator("svg").count()];
    const [text, drawn] = await me.onPage(/^softmax_kernel/, read);
    assert.match(text, /Checks of the last kept step/);
    assert.match(text, /triton\.online-reduction\s+kept\s+not measured/);
    assert.equal(drawn, 0); // nothing was measured, so nothing is drawn
  });

  inEachTheme(step, "view and report can be read", async ({ page, me, picture }, { kind }, drawn) => {
    const weak = await me.onPage(/^softmax_kernel/, async (report) => {
      await drawn(report);
      return illegible(report, "h1, h1 span, h2, p, th, td");
    });
    weak.push(...(await illegible(page, `${ROWS} .label-name, ${ROWS} .label-description`)));
    assert.deepEqual(weak, []);
    await me.away();
    await picture(`kernels-${kind}`, { whole: true });
  });

  step("the Test Explorer has the checks", async ({ me, picture }) => {
    const listed = (soon) => me.seen(".test-explorer .monaco-list-row", /softmax_kernel/, soon);
    await me.command("Testing: Focus on Test Explorer View", listed);
    await picture("tests", { whole: true });
  });

  step("a step is taken back from the view", async ({ page, me }) => {
    await me.command("Show Kernels and Steps", (soon) => me.seen(ROWS, /1\. triton/, soon));
    const reverted = (soon) => me.seen(ROWS, /1\. triton\.online-reduction.*reverted/, soon);
    await me.menu(row(page, STEP), "Take Back This Step", reverted);
    await me.seen(".view-line", BASELINE);
  });
});
