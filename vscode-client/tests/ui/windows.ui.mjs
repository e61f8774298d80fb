// Two windows on one folder, each with a server of its own, and a step on the same kernel in both at once.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { repository } from "./prepare.mjs";
import { processes } from "./processes.mjs";
import { scene } from "./scene.mjs";
import { begun, letGo, ONLINE, ROWS } from "./softmax.mjs";
import { until } from "./until.mjs";

const recall = fileURLToPath(new URL("recall.py", import.meta.url));

/** The steps of softmax.py, as the journal has them. */
function journal(workspace) {
  const python = path.join(repository, ".venv/bin/python");
  const { status, stdout, stderr } = spawnSync(python, [recall, workspace, "softmax.py"], { encoding: "utf8" });
  assert.equal(status, 0, stderr);
  return stdout.trim().split("\n");
}

/** The person of a window that is brought in front: one behind another draws nothing new by itself. */
async function front({ page, me }) {
  await page.bringToFront();
  return me;
}

/** The same, as a window's view shows them once it is drawn anew. */
async function viewed({ page, me }) {
  await front({ page, me });
  await me.command("Show Kernels and Steps", (soon) => me.seen(ROWS, /1\. triton\.online-reduction/, soon));
  await page.locator('.composite.title .action-label[aria-label="Refresh"]').click();
  const rows = await page
    .locator(ROWS)
    .filter({ hasText: /\d\. triton/ })
    .allTextContents();
  return rows.map((text) => {
    const [, step, told] = /^(\d+\. [a-z.-]+?)(kept|reverted|rejected|not measured)/.exec(text);
    return `${step} ${told.replace("not measured", "kept")}`;
  });
}

scene("two windows on one folder", "softmax.py", { files: "waiting" }, (step) => {
  let both;

  step("a step is taken in both at once, and both end in words", async (window) => {
    const { workspace } = window;
    await window.me.lens(/Optimize kernel/);
    both = [window, await window.another("softmax.py")];
    await both[1].me.lens(/Optimize kernel/);
    assert.equal(processes(workspace, "kernelwright.lsp").length, 2);
    for (const one of both) {
      await front(one);
      await begun(one);
    }
    letGo(window);
    for (const one of both) {
      const me = await front(one);
      await me.seen(".view-line", ONLINE);
      await me.hover("def softmax_kernel", /Verified: passed \d+ checks/);
      await me.atPeace();
    }
  });

  step("both show what the journal has: one step is kept, as the text has it once", async (window) => {
    const { workspace } = window;
    const steps = ["1. triton.online-reduction reverted", "2. triton.online-reduction kept"];
    assert.deepEqual(journal(workspace), steps);
    for (const one of both) {
      await until(async () => (await viewed(one)).join() === steps.join(), `${steps} in the view`);
    }
  });

  step("what one saves is the text of the other", async ({ workspace }) => {
    const other = both[1];
    const me = await front(both[0]);
    await me.click("def softmax_kernel");
    await me.press("Control+s");
    await until(() => ONLINE.test(readFileSync(path.join(workspace, "softmax.py"), "utf8")), "the step in the file");
    await front(other);
    const dirty = other.page.locator(".tab.dirty");
    await other.me.command("File: Revert File", (timeout) => dirty.waitFor({ state: "detached", timeout }));
    await until(async () => (await other.me.text()) === (await me.text()), "the same text in both");
    await other.me.hover("def softmax_kernel", /Verified: passed \d+ checks/);
  });
});
