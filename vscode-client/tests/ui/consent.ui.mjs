// A machine whose Python has no Kernelwright: one question, then a server of the extension's own. Needs a package index.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import path from "node:path";
import { scene } from "./scene.mjs";

const managed = (data) => path.join(data, "User/globalStorage/kernelwright.kernelwright/server");

scene("a Python without Kernelwright", "softmax.py", { bare: true }, (step) => {
  step("nothing is made before the person agrees", async ({ me, data, picture }) => {
    await me.notification(/Kernelwright is not installed in .*Create an environment/);
    await picture("consent", { whole: true });
    assert.equal(existsSync(managed(data)), false);
  });

  step("the environment is made from the bundled wheel, and its server serves", async ({ me, data }) => {
    await me.answer(/Create an environment/, "Create Environment");
    await me.lens(/Optimize kernel/);
    assert.equal(existsSync(path.join(managed(data), "kernelwright-wheel.sha256")), true);
  });

  step("the person is not asked again", async ({ page, me, load }) => {
    await load("finding.py");
    await page.waitForSelector(".squiggly-warning");
    assert.equal(await me.notified(/Create an environment/).count(), 0);
  });
});
