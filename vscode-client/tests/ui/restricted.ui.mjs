// A workspace that is not trusted: it can be read with findings and cards, and nothing of it is run.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { repository } from "./prepare.mjs";
import { processes } from "./processes.mjs";
import { scene } from "./scene.mjs";

const settings = {
  "security.workspace.trust.enabled": true,
  "security.workspace.trust.startupPrompt": "never",
  "security.workspace.trust.banner": "always",
  "kernelwright.server.path": path.join(repository, ".venv/bin/python"),
};

scene("a workspace that is not trusted", "finding.py", { settings }, (step) => {
  step("findings and cards are there", async ({ page, me }) => {
    await me.seen(".statusbar-item", /Restricted Mode/);
    await page.waitForSelector(".squiggly-warning");
    await me.openFile("softmax.py");
    await me.hover("def softmax_kernel", /softmax_kernel: Triton kernel.*Workload/);
    await me.press("Escape");
  });

  step("nothing of it is run, and the refusal says why", async ({ me, picture, workspace }) => {
    await me.clickLens(/Optimize kernel/, /This runs code of the workspace, which is not trusted/);
    await picture("restricted", { whole: true });
    assert.equal(await me.changed("softmax.py"), false);
    assert.deepEqual(processes(path.join(workspace, ".venv")), []);
    assert.deepEqual(processes(workspace, "kernelwright.proof"), []);
    assert.equal(existsSync(path.join(workspace, ".kernelwright")), false);
  });

  step("once it is trusted, the same lens starts the job", async ({ page, me }) => {
    await me.answer(/not trusted/, "Manage Workspace Trust");
    await page.locator(".workspace-trust-editor .monaco-button", { hasText: /^Trust$/ }).click();
    await me.openFile("slow.py");
    await me.clickLens(/Optimize kernel/, /Optimize slow/);
    await me.answer(/Optimize slow/, "Cancel");
    await me.notified(/Optimize slow/).waitFor({ state: "hidden" });
  });
});
