// The report of steps that were measured on a GPU: trajectory and roofline, in each kind of theme.
import assert from "node:assert/strict";
import { illegible } from "./contrast.mjs";
import { scene } from "./scene.mjs";
import { inEachTheme } from "./themes.mjs";

const TALL = { width: 1280, height: 1150 }; // both charts and their numbers at once

scene("a file with measured steps", "rows.py", { recorded: "rows.json" }, (step) => {
  step("the report draws the trajectory and every measured step under the roof", async ({ page, me }) => {
    await page.setViewportSize(TALL);
    await me.lens(/Optimize kernel/);
    await me.command("Show Report", (soon) => me.seen(".tab.active", /Report: softmax_kernel/, soon));
    const read = async (frame) => ({
      text: await frame.locator("body").innerText(),
      charts: await frame.getByRole("img").evaluateAll((found) => found.map((one) => one.getAttribute("aria-label"))),
      marks: await frame.locator("svg g > .mark").count(),
    });
    const { text, charts, marks } = await me.onPage(/^softmax_kernel/, read);
    assert.equal(charts.length, 2);
    assert.match(charts[0], /^Speedup over the baseline after each kept step: step 1 1\.89x, step 3 1\.99x$/);
    assert.match(charts[1], /^Roofline of NVIDIA H100 80GB HBM3: memory-bound, 4 points; Step 3, now: \d\d\s%/);
    assert.match(text, /Step 2, rejected\s+triton\.autotune\s+0\.192 ms\s+3\.15\sTFLOP\/s\s+84\s%/);
    assert.ok(marks >= 7, `${marks} marks`); // three of the trajectory, four of the plot
  });

  step("no words lie on one another", async ({ me }) => {
    const crossed = await me.onPage(/^softmax_kernel/, (frame) =>
      frame.locator("svg").evaluateAll((charts) =>
        charts.flatMap((chart) => {
          const words = [...chart.querySelectorAll("text:not([transform])")];
          const boxes = words.map((one) => ({ text: one.textContent, box: one.getBBox() }));
          return boxes.flatMap(({ text, box }, at) =>
            boxes
              .slice(at + 1)
              .filter(({ box: other }) => {
                const across = Math.min(box.x + box.width, other.x + other.width) - Math.max(box.x, other.x);
                const down = Math.min(box.y + box.height, other.y + other.height) - Math.max(box.y, other.y);
                return across > 1 && down > 2; // lines of text may touch
              })
              .map((other) => `${text} and ${other.text}`),
          );
        }),
      ),
    );
    assert.deepEqual(crossed, []);
  });

  inEachTheme(step, "the report can be read", async ({ me, picture }, { kind }, drawn) => {
    const weak = await me.onPage(/^softmax_kernel/, async (frame) => {
      await drawn(frame);
      return illegible(frame, "h1, h1 span, h2, p, th, td, svg text");
    });
    assert.deepEqual(weak, []);
    await me.away();
    if (kind === "vs-dark") await picture("report", { height: TALL.height });
  });
});
