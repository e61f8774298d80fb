// The first minute: what happens without a server, for files without kernels, and when the server is killed.
import assert from "node:assert/strict";
import { processes } from "./processes.mjs";
import { scene } from "./scene.mjs";
import { until } from "./until.mjs";

const servers = (workspace) => processes(workspace, "kernelwright.lsp");

scene("the server", "plain.py", {}, (step) => {
  step("a Python file without a kernel starts no server; one with a kernel does", async ({ page, me, workspace }) => {
    await me.seen(".view-line", /a file without a kernel/);
    const output = page.locator(".output-view").first();
    await me.command("Kernelwright: Open Logs", (timeout) => output.waitFor({ timeout })); // loads the extension, no more
    assert.deepEqual(servers(workspace), []);
    await me.openFile("softmax.py");
    await me.lens(/Optimize kernel/);
    assert.equal(servers(workspace).length, 1);
  });

  step("the language status says what runs, where, and with which model", async ({ page, me, picture }) => {
    await me.press("Control+j"); // the logs
    await until(async () => {
      await me.away();
      await page.locator('[id="status.languageStatus"]').hover({ timeout: 5000 });
      const said = /(?=.*Running, version.*Open logs)(?=.*GPU)(?=.*No model: edits are deterministic)/;
      return me.seen(".monaco-hover", said, 5000);
    }, "the language status");
    await picture("status", { whole: true });
    await me.away();
  });

  step("the walkthrough has five steps with pictures", async ({ page, me, picture }) => {
    const asked = page.locator('.quick-input-widget input[placeholder*="walkthrough"]');
    await me.command("Open Walkthrough...", (timeout) => asked.waitFor({ timeout }));
    await me.pick("Kernelwright", /Get Started with Kernelwright/);
    await me.seen(".getting-started-category, .gettingStartedContainer", /See what is here.*Look back/);
    assert.equal(await page.locator(".gettingStartedContainer .getting-started-step").count(), 5);
    const drawn = async () => {
      for (const frame of page.frames()) {
        if (await frame.locator("svg title", { hasText: "What the doctor lists" }).count()) return true;
      }
      return false;
    };
    await until(drawn, "the picture of the first step");
    await picture("walkthrough", { whole: true });
  });

  step("the doctor's page says what was found", async ({ me, picture }) => {
    await me.command("Kernelwright: Doctor", (soon) => me.seen(".tab.active", /Doctor/, soon));
    const text = await me.onPage("Kernelwright: Doctor", (frame) => frame.locator("body").innerText());
    assert.match(text, /Running, version/);
    assert.match(text, /Selected interpreter/);
    assert.match(text, /torch/);
    await picture("doctor", { whole: true });
  });

  step("a server that is killed is started again by itself, and answers", async ({ me, workspace }) => {
    const [killed] = servers(workspace);
    process.kill(killed, "SIGKILL");
    await until(() => servers(workspace).some((pid) => pid !== killed), "another server");
    await me.openFile("softmax.py");
    await me.hover("def softmax_kernel", /softmax_kernel: Triton kernel/);
    await me.press("Escape");
  });

  step("a job whose server is killed says so, and changes nothing", async ({ me, workspace }) => {
    await me.openFile("slow.py");
    await me.clickLens(/Optimize kernel/, /Optimize slow/);
    for (const pid of servers(workspace)) process.kill(pid, "SIGKILL");
    await me.notification(/Optimize slow was interrupted: its server ended\. Nothing was changed/);
    await me.notified(/Optimize slow$/).waitFor({ state: "hidden" });
    assert.equal(await me.changed("slow.py"), false);
  });
});
