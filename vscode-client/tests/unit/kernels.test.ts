import assert from "node:assert/strict";
import test from "node:test";
import { figures, kernelLook, kernelNodes, stepLook, stepNodes, type KernelNode } from "../../src/views/kernels/model";
import { measurement, step, verdict } from "./steps";

const first = step();
const rejected = step({ id: "s2", outcome: "rejected", reason: "No gain.", measurement: measurement({ speedup: 1 }) });
const second = step({
  id: "s3",
  measurement: measurement({ speedup: 3 }),
  sentence: "Reduce rows online. Verified: 3.00x",
});
const other = step({ id: "s4", kernel: "matmul" });

function kernel(...steps: (typeof first)[]): KernelNode {
  const [node] = kernelNodes("file:///a.py", [{ name: "softmax", line: 7 }], steps);
  assert.ok(node);
  return node;
}

test("steps stand under the kernel that they are of", () => {
  assert.deepEqual(
    kernel(first, other, second).steps.map(({ id }) => id),
    ["s1", "s3"],
  );
});

test("a kernel says how many steps were kept and how fast it is", () => {
  const check = (node: KernelNode, description: string, context: string): void =>
    assert.deepEqual([kernelLook(node).description, kernelLook(node).context], [description, context]);
  check(kernel(), "no steps yet", "kernel");
  check(kernel(rejected), "nothing kept", "kernel");
  check(kernel(first, second), "2 kept · 3.00x", "kernel-kept");
  check(kernel(step({ measurement: null })), "1 kept · not measured", "kernel-kept");
});

test("a kernel that cannot be called says so, and what is missing", () => {
  const lacking = { name: "softmax", line: 7, missing: "No workload line calls softmax." };
  const [node] = kernelNodes("file:///a.py", [lacking], []);
  const [stepped] = kernelNodes("file:///a.py", [lacking], [first]);
  assert.ok(node && stepped);
  const look = kernelLook(node);
  assert.deepEqual([look.description, look.tooltip, look.context], ["no workload", lacking.missing, "kernel-lacking"]);
  assert.equal(kernelLook(stepped).context, "kernel-kept");
});

test("reduced accuracy is said wherever the verdict is", () => {
  const node = kernel(step({ verdict: verdict({ accuracy: "reduced accuracy" }) }));
  const [only] = stepNodes(node);
  assert.ok(only);
  for (const text of [kernelLook(node).description, stepLook(only).description, figures(only)]) {
    assert.match(text, /reduced accuracy/);
  }
});

test("a step says strategy, speedup and verdict", () => {
  const looks = stepNodes(kernel(first, rejected, second)).map(stepLook);
  assert.deepEqual(
    looks.map(({ label }) => label),
    [1, 2, 3].map((number) => `${number}. triton.tune-launch`),
  );
  assert.deepEqual(
    looks.map(({ description }) => description),
    ["2.33x · passed 2 checks", "rejected · passed 2 checks", "3.00x · passed 2 checks"],
  );
  assert.deepEqual(
    looks.map(({ context }) => context),
    ["step-kept-followed", "step-rejected", "step-kept"],
  );
  assert.equal(looks[2]?.tooltip, second.sentence);
});

test("to go back to a step is to revert the next kept one", () => {
  assert.deepEqual(
    stepNodes(kernel(first, rejected, second)).map(({ next }) => next?.id),
    ["s3", "s3", undefined],
  );
});

test("a step whose gate is not green shows no number anywhere", () => {
  const wrong = step({ outcome: "rejected", verdict: verdict({ status: "failed" }), reason: "Check values failed." });
  const [node] = stepNodes(kernel(wrong));
  assert.ok(node);
  assert.doesNotMatch(JSON.stringify(stepLook(node)) + figures(node), /2\.3/);
});

test("numbers are copied with their device, interval and conditions", () => {
  const [node] = stepNodes(kernel(first));
  assert.ok(node);
  assert.deepEqual(figures(node).split("\n"), [
    "softmax: triton.tune-launch (BLOCK=2048)",
    "speedup 2.333x (95 % CI 2.280-2.390)",
    "baseline 0.42 ms, now 0.18 ms (medians of 50 samples)",
    "device NVIDIA H200",
    "dtype: float32",
    "passed 2 checks",
  ]);
});
