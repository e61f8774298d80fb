// A CUDA C++ file: card, lens, a strategy that the emulator verifies, and the way back.
import { scene } from "./scene.mjs";

scene("a CUDA file", "matmul.cu", {}, (step) => {
  step("the kernel has a card and a lens", async ({ me }) => {
    await me.lens(/Optimize kernel/);
    await me.hover("void matmul_kernel", /matmul_kernel: CUDA kernel.*Workload.*m=48, n=33, k=20/, "matmul_kernel");
    await me.press("Escape");
  });

  step("a strategy from the menu is verified without a GPU", async ({ page, me }) => {
    const begun = (soon) => me.notification(/Optimize matmul_kernel: \w/, soon);
    await me.refactor("void matmul_kernel", /Tile through shared memory/, begun);
    await me.seen(".view-line", /__shared__ float/);
    await me.atPeace();
    await page.waitForSelector(".squiggly-info");
    await me.hover(
      "void matmul_kernel",
      /Verified: passed \d+ checks.*speed not measured: no GPU here/,
      "matmul_kernel",
    );
    await me.press("Escape");
  });

  step("undo takes it back", async ({ me }) => {
    await me.press("Control+z");
    await me.seen(".view-line", /if \(row >= m \|\| col >= n\) return;/);
  });
});
