// What a person does while a job runs: they stop it, or edit, rename and delete its file. The job lasts until it is let go.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { scene } from "./scene.mjs";
import { BASELINE, begun, hold, letGo, ONLINE, ROWS } from "./softmax.mjs";

const GONE = /The file was closed, renamed or deleted meanwhile, so nothing was changed/;
const JOB = /Optimize softmax_kernel/;

scene("a job that lasts", "softmax.py", { files: "waiting" }, (step) => {
  const saved = ({ workspace }, name) => readFileSync(path.join(workspace, name), "utf8");
  const stop = ({ page }) => page.locator('.composite.title .action-label[aria-label="Stop Running Jobs"]');
  let baseline;

  step("the view's button is there while the job runs, and stops it", async (window) => {
    const { me } = window;
    baseline = saved(window, "softmax.py");
    await me.lens(/Optimize kernel/);
    await me.command("Show Kernels and Steps", (soon) => me.seen(ROWS, /softmax_kernel.*no steps yet/, soon));
    assert.equal(await stop(window).count(), 0);
    await begun(window);
    await stop(window).waitFor();
    await stop(window).click();
    await stop(window).waitFor({ state: "detached" });
    await me.atPeace();
    assert.equal(await me.changed("softmax.py"), false);
  });

  step("a preview shows the step, and changes nothing before it is applied", async (window) => {
    const { page, me, picture } = window;
    const preview = page.locator(".panel .monaco-list-row", { hasText: /row_max/ });
    await begun(window, /Reduce rows online \(preview\)/);
    letGo(window);
    await preview.click();
    await me.atPeace(); // the job has ended; what is left to do is the person's
    await stop(window).waitFor({ state: "detached" });
    await me.seen(ROWS, /softmax_kernel.*no steps yet/);
    await me.press("Control+b"); // room for both sides
    await preview.locator("input").check();
    await me.seen(".monaco-diff-editor .view-line", BASELINE);
    await me.seen(".monaco-diff-editor .view-line", ONLINE);
    await page.locator(".monaco-diff-editor .line-insert").first().waitFor();
    await picture("preview", { whole: true });
    assert.equal(await me.changed("softmax.py"), false);
    await page.locator(".panel .monaco-button", { hasText: "Apply" }).click();
    await me.seen(".editor-instance .view-line", ONLINE);
    await me.command("Show Kernels and Steps", (soon) => me.seen(ROWS, /softmax_kernel.*1 kept/, soon));
    await me.atPeace();
    await me.press("Control+z");
    await me.seen(".editor-instance .view-line", BASELINE);
    assert.equal(await me.changed("softmax.py"), false);
  });

  step("a file that is edited is left alone, and the step can be taken on what it is now", async (window) => {
    const { page, me } = window;
    hold(window);
    await begun(window);
    await me.click("import torch");
    await me.press("End");
    await page.keyboard.insertText(" # mine");
    letGo(window);
    await me.notification(/The file was edited meanwhile, so nothing was changed\. Run the step again/);
    await me.notified(JOB).waitFor({ state: "hidden" });
    await stop(window).waitFor({ state: "detached" });
    await me.seen(".view-line", BASELINE);
    hold(window);
    await me.answer(/Run the step again/, "Run again");
    await me.notification(/Optimize softmax_kernel: Verifying/);
    letGo(window);
    await me.seen(".view-line", ONLINE);
    await me.seen(".view-line", /import torch # mine/);
    await me.atPeace();
    const dirty = page.locator(".tab.dirty");
    await me.command("File: Revert File", (timeout) => dirty.waitFor({ state: "detached", timeout }));
  });

  step("a file that is renamed keeps its text and its steps", async (window) => {
    const { page, me } = window;
    hold(window);
    await begun(window);
    const named = page.locator(".explorer-item-edited input");
    await me.inExplorer("softmax.py", "F2", (soon) => named.waitFor({ timeout: soon }).then(() => true));
    await named.fill("moved.py");
    await me.press("Enter");
    await page.locator('.tab.active[data-resource-name="moved.py"]').waitFor();
    letGo(window);
    await me.notification(GONE);
    assert.equal(await me.changed("moved.py"), false);
    assert.equal(saved(window, "moved.py"), baseline);
    assert.equal(existsSync(path.join(window.workspace, "softmax.py")), false);
    await me.command("Show Kernels and Steps", (soon) => me.seen(ROWS, /^moved\.py/, soon));
    await me.seen(ROWS, /1\. triton\.online-reduction/);
    assert.equal(await page.locator(ROWS).filter({ hasText: "softmax.py" }).count(), 0);
    await me.command("Notifications: Clear All Notifications", () => me.atPeace());
  });

  step("a file that is deleted stays deleted", async (window) => {
    const { page, me } = window;
    hold(window);
    await begun(window);
    const sure = page.locator(".monaco-dialog-box .monaco-button", { hasText: "Delete" });
    await me.inExplorer("moved.py", "Delete", (soon) => sure.waitFor({ timeout: soon }).then(() => true));
    await sure.click();
    await page.locator('.tab[data-resource-name="moved.py"]').waitFor({ state: "detached" });
    letGo(window);
    await me.notification(GONE);
    assert.equal(existsSync(path.join(window.workspace, "moved.py")), false);
    await me.command("Show Kernels and Steps", (soon) => me.seen(".welcome-view", /Open a file with a Triton/, soon));
  });
});
