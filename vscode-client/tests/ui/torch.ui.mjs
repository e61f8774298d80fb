// PyTorch files: a step from the lens with its progress and its evidence, and a job that is cancelled.
import assert from "node:assert/strict";
import { processes } from "./processes.mjs";
import { scene } from "./scene.mjs";
import { until } from "./until.mjs";

scene("a PyTorch file", "energy.py", {}, (step) => {
  // Whether a step is kept depends on measured times, and these on what else the machine does; that it ends in words does not.
  step("the lens takes a step, with progress, and its evidence is at the kernel", async ({ page, me }) => {
    await me.clickLens(/Optimize kernel/, /Optimize Energy/);
    await page.waitForSelector(".squiggly-info, .squiggly-warning");
    await me.hover("class Energy", /Last result: (Verified\b.*: .* faster than baseline|.* was not kept)/);
    await me.press("Escape");
    await me.atPeace(); // kept or not: what came of a step is said at the kernel
  });

  step("the report draws what was measured", async ({ me }) => {
    await me.command("Show Report", (soon) => me.seen(".tab.active", /Report: Energy/, soon));
    const read = async (frame) => [await frame.locator("body").innerText(), await frame.locator("svg").count()];
    const [text, drawn] = await me.onPage(/^Energy/, read);
    const measured = /Verified\b.*: .* faster than baseline/.test(text);
    assert.equal(drawn, measured ? 1 : 0); // the trajectory; the ceilings of a CPU are not known
    if (measured)
      assert.match(text, /There is no roofline: the memory bandwidth and the TF32 peak of .* are not known\./);
  });

  step("a kernel that cannot be worked on says why", async ({ me }) => {
    await me.openFile("uncalled.py");
    await me.lens(/No workload: record one from a test or script/);
    await me.command("Optimize Kernel: Next Step", (soon) => me.notification(/workload/, soon));
  });

  step("its workload is recorded from the test that calls it", async ({ me }) => {
    await me.clickLens(/No workload/, /Record workloads|Recorded 1 workload line for 1 kernel from test_uncalled\.py/);
    await me.seen(".view-line", /# workload: scaled\(randn\(64, 32\)\)/);
    await me.lens(/Optimize kernel/);
    await me.click("def scaled");
    await me.press("Control+z");
    await me.lens(/No workload/);
  });

  // The function sleeps for ten minutes: a cancel that waited for it would not end within the suite's patience.
  step("a job that is cancelled changes nothing", async ({ me }) => {
    await me.openFile("slow.py");
    await me.clickLens(/Optimize kernel/, /Optimize slow/);
    await me.answer(/Optimize slow/, "Cancel");
    await me.notified(/Optimize slow/).waitFor({ state: "hidden" });
    assert.equal(await me.changed("slow.py"), false);
  });

  step("a window that is reloaded during a run starts anew, and the run ends", async ({ me, load, workspace }) => {
    await me.clickLens(/Optimize kernel/, /Optimize slow/);
    const before = processes(workspace, "kernelwright");
    assert.ok(before.length > 1, "a server and its worker");
    await load("slow.py");
    await me.lens(/Optimize kernel/);
    await until(() => {
      const living = new Set(processes(workspace, "kernelwright"));
      return !before.some((pid) => living.has(pid));
    }, "the end of the server before the reload, and of its worker");
    assert.equal(await me.changed("slow.py"), false);
  });
});
