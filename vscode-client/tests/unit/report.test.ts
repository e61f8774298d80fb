import assert from "node:assert/strict";
import test from "node:test";
import type { Step } from "../../src/client/answers";
import type { KernelNode } from "../../src/views/kernels/model";
import { escaped, roofline, trajectory } from "../../src/views/report/charts";
import { reportPage } from "../../src/views/report/page";
import { measurement, step, verdict } from "./steps";

function page(...steps: Step[]): string {
  const kernel: KernelNode = { is: "kernel", uri: "file:///a.py", name: "softmax", line: 0, steps };
  return reportPage(kernel, "a.py", "NONCE");
}

test("the page admits its own style and nothing else", () => {
  const html = page(step());
  assert.match(html, /content="default-src 'none'; style-src 'nonce-NONCE'"/);
  assert.doesNotMatch(html, /<script|style="|https?:|url\(|onload|javascript:/i);
});

test("what comes from files is shown as text", () => {
  const html = page(step({ sentence: "<img src=x onerror=1>", edits: { summary: "</td><b>" } }));
  assert.doesNotMatch(html, /<img|<\/td><b>/);
  assert.equal(escaped(`<a href="x">&'`), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
});

test("trajectory, roofline, steps and checks of a kernel", () => {
  const html = page(step(), step({ id: "s2", measurement: measurement({ speedup: 3, floor_ms: 0.05 }) }));
  for (const part of [
    "Trajectory",
    "Time and roofline",
    "2.33x",
    "3.00x",
    "0.05 ms",
    "NVIDIA H200",
    "max |err| 2.4e-7",
  ]) {
    assert.ok(html.includes(part), part);
  }
});

test("no number is drawn without a green gate", () => {
  const wrong = step({ verdict: verdict({ status: "failed" }) });
  for (const html of [page(wrong), page(step({ measurement: measurement({ impossible: true }) }))]) {
    assert.doesNotMatch(html, /2\.33|0\.18 ms|<svg/);
  }
});

test("a kernel without steps says so", () => {
  assert.match(page(), /No step was kept yet\./);
  assert.equal(trajectory([]), "");
});

test("steps without a measurement keep their place on the trajectory", () => {
  const points = [undefined, measurement()].map((measured, at) => ({ number: at + 1, label: "s", measured }));
  const drawn = trajectory(points);
  assert.equal(drawn.match(/<circle/g)?.length, 1);
  assert.match(drawn, /not measured/);
  assert.equal(trajectory([{ number: 1, label: "s", measured: undefined }]), "");
});

test("the roofline is drawn where it is known", () => {
  assert.doesNotMatch(roofline(measurement()), /Roofline/);
  assert.match(roofline(measurement({ floor_ms: 0.1 })), /Roofline.*0\.1 ms/);
});
