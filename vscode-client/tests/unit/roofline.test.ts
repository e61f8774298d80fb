import assert from "node:assert/strict";
import test from "node:test";
import type { Measurement, Roof, Step } from "../../src/client/answers";
import { reportPage } from "../../src/views/report/page";
import { performancePlot } from "../../src/views/report/plot";
import { points } from "../../src/views/report/points";
import { attainable, ridge, roofline, type Roofline } from "../../src/views/report/roofline";
import { spread } from "../../src/views/report/spread";
import { intensity, percent, si } from "../../src/views/report/text";
import { measurement, roof, step, verdict } from "./steps";

const KEPT = step({ measurement: at(0.2) });
const REJECTED = step({ id: "s2", outcome: "rejected", measurement: at(0.19) });
const LAST = step({ id: "s3", measurement: at(0.1) });

function at(ms: number, changed: Partial<Measurement> = {}): Measurement {
  const timing = { median_ms: ms, p10_ms: ms, p90_ms: ms, samples: 50 };
  return measurement({ candidate: timing, roof: roof(), ...changed });
}

function found(...steps: Step[]): Roofline {
  const answer = roofline(points(steps));
  assert.notEqual(answer.is, "none");
  return answer as Roofline;
}

function why(given: Roof | null): string {
  const answer = roofline(points([step({ measurement: measurement({ roof: given }) })]));
  return answer.is === "none" ? answer.why : "";
}

function page(...steps: Step[]): string {
  return reportPage({ is: "kernel", uri: "file:///a.py", name: "k", line: 0, missing: "", steps }, "a.py", "NONCE");
}

/** The texts of a drawing with their places. */
function texts(drawn: string): { x: number; y: number; text: string }[] {
  const pattern = /<text[^>]* x="([\d.]+)" y="([\d.]+)"[^>]*>([^<]+)<\/text>/g;
  return [...drawn.matchAll(pattern)].map(([, x, y, text]) => ({ x: Number(x), y: Number(y), text: text ?? "" }));
}

test("the roof is the slope of the memory up to the ridge and flat behind it", () => {
  assert.equal(attainable(roof(), 1), 4.8e12);
  assert.equal(attainable(roof(), 1000), 6.7e13);
  assert.equal(ridge(roof({ bandwidth: 1e12, peak_flops: 2e13 })), 20);
});

test("the baseline and every measured step are points, numbered as in the table of steps", () => {
  const all = points([KEPT, REJECTED, step({ verdict: verdict({ status: "failed" }) }), LAST]);
  assert.deepEqual(
    all.map(({ number, kind, current }) => [number, kind, current]),
    [
      [0, "baseline", false],
      [1, "kept", false],
      [2, "rejected", false],
      [4, "kept", true],
    ],
  );
  assert.deepEqual(points([step({ measurement: null })]), []);
});

test("the baseline is the text of now where no step was kept, and no point is where that was not measured", () => {
  assert.deepEqual(
    points([REJECTED]).map(({ current }) => current),
    [true, false],
  );
  const unmeasured = step({ id: "s9", measurement: null });
  assert.ok(points([KEPT, unmeasured]).every(({ current }) => !current));
});

test("a point has its FLOP/s and its share of the roof", () => {
  const [baseline, , , now] = found(KEPT, REJECTED, LAST).placed;
  assert.equal(now?.rate, 4e12);
  assert.equal(now.intensity, 1);
  assert.equal(percent(now.share), "83\u00a0%");
  assert.equal(Math.round((baseline?.rate ?? 0) / 1e9), 952);
});

test("the plot names its ceilings, its points and the ridge with their numbers", () => {
  const drawn = performancePlot(found(KEPT, REJECTED, LAST));
  const said = texts(drawn).map(({ text }) => text);
  for (const part of [
    "Memory 4.8\u00a0TB/s",
    "Peak 67\u00a0TFLOP/s (float32)",
    "Ridge 14\u00a0FLOP/byte",
    "1\u00a0FLOP/byte",
    "Roof: 4.8\u00a0TFLOP/s",
    "3, now: 4\u00a0TFLOP/s",
    "Baseline: 952\u00a0GFLOP/s",
    "10\u00a0TFLOP/s",
    "Performance (FLOP/s)",
    "Arithmetic intensity (FLOP/byte)",
  ]) {
    assert.ok(said.includes(part), `${part} in ${said.join(", ")}`);
  }
  assert.match(drawn, /role="img" aria-label="Roofline of NVIDIA H200: memory-bound, 4 points; Step 3, now: 83\u00a0%/);
  assert.match(drawn, /<title>Step 2, rejected: 2\.11\u00a0TFLOP\/s, 44\u00a0% of the roof<\/title>/);
  assert.equal(drawn.match(/class="ring"/g)?.length, 1);
});

test("kinds of points have shapes of their own", () => {
  const reverted = step({ id: "s4", outcome: "reverted", measurement: at(0.3) });
  const drawn = performancePlot(found(KEPT, REJECTED, reverted, LAST));
  const shapes = new Map([...drawn.matchAll(/class="mark (\w+)" d="([^"]+)"/g)].map(([, kind, d]) => [kind, d]));
  assert.deepEqual([...shapes.keys()].sort(), ["baseline", "kept", "rejected", "reverted"]);
  assert.equal(new Set(shapes.values()).size, 4);
});

for (const [name, work] of [
  ["memory-bound", roof()],
  ["compute-bound", roof({ flops: 4e11, dtype: "tf32", peak_flops: 4.94e14 })],
  ["at the ridge", roof({ flops: 5.58e9 })],
  ["far from it", roof({ flops: 4e4 })],
] as const) {
  test(`no two labels of many points that are close lie on one another, ${name}`, () => {
    const steps = Array.from({ length: 20 }, (_, index) => {
      const outcome = index % 3 ? "kept" : "rejected";
      return step({ id: `s${index}`, outcome, measurement: at(1 + index / 1e4, { roof: work }) });
    });
    const drawn = performancePlot(found(...steps));
    const labels = texts(drawn).filter(({ text }) => /^(\d+(, now)?|Baseline(, now)?|Roof): /.test(text));
    assert.ok(labels.length >= 8, `${labels.length} labels`);
    const lines = labels.map(({ y }) => y).sort((one, other) => one - other);
    assert.ok(lines.slice(1).every((y, index) => y - (lines[index] ?? 0) >= 15));
    const last = lines.at(-1) ?? Infinity;
    assert.ok(texts(drawn).every(({ x, y, text }) => x >= 0 && x < 560 && y > 0 && (y < 404 || text === "")));
    const axis = texts(drawn).find(({ text }) => text.startsWith("Ridge "));
    assert.ok(last < (axis?.y ?? 0) - 10, "labels end above the words beside the axis");
  });
}

test("a point above the roof is drawn, and the page says how that can be", () => {
  const drawn = page(step({ measurement: at(0.01) }));
  assert.match(drawn, /Above the roof: /);
  assert.match(drawn, /<td class="number">833\u00a0%<\/td>/);
});

test("a kernel that computes nothing has its bandwidth beside the memory's", () => {
  const copy = roof({ flops: 0, peak_flops: 0 });
  const [one, two] = [at(0.2, { roof: copy }), at(0.1, { roof: copy })];
  const html = page(step({ measurement: one }), step({ id: "s2", measurement: two }));
  assert.match(html, /moves data and computes nothing/);
  assert.match(html, /<th class="number">Bandwidth<\/th>/);
  assert.match(html, /<td class="number">4\u00a0TB\/s<\/td><td class="number">83\u00a0%<\/td>/);
  assert.match(html, /Memory 4\.8\u00a0TB\/s/);
  assert.equal(html.match(/<rect/g)?.length, 3);
  assert.doesNotMatch(html, /FLOP/);
});

test("where there is no roofline one sentence says why, and the times are told all the same", () => {
  assert.equal(why(null), "There is no roofline: how much this kernel moves and computes is not known.");
  assert.match(
    why(roof({ bandwidth: 0, peak_flops: 0 })),
    /memory bandwidth and the float32 peak of NVIDIA H200 are not/,
  );
  assert.match(why(roof({ dtype: "tf32", peak_flops: 0 })), /the TF32 peak of NVIDIA H200 is not known/);
  assert.match(why(roof({ bytes: 0, flops: 0 })), /moves and computes nothing/);
  assert.match(why(roof({ bytes: 0 })), /moves no memory/);
  const html = page(step()); // as an earlier version wrote it
  assert.match(html, /There is no roofline/);
  assert.match(html, /<td class="number">0\.18 ms<\/td>/);
  assert.doesNotMatch(html, /FLOP\/s|NaN|undefined/);
});

test("what was measured under another roof is left out and named", () => {
  const elsewhere = at(0.2, { device: "NVIDIA L4" });
  const html = page(step({ measurement: elsewhere }), step({ id: "s2", measurement: at(0.1) }));
  assert.match(html, /Not under this roof, [^<]*: Step 1\./);
  const { placed } = found(step({ measurement: elsewhere }), step({ id: "s2", measurement: at(0.1) }));
  assert.deepEqual(
    placed.map(({ point }) => point.number),
    [0, 2],
  );
});

test("another workload has another intensity", () => {
  const larger = at(0.2, { roof: roof({ flops: 8e8 }) });
  const { placed } = found(KEPT, step({ id: "s2", measurement: larger }));
  assert.deepEqual(
    placed.map((one) => one.intensity),
    [2, 1, 2],
  );
});

test("labels are moved apart as little as they allow, and stay within their bounds", () => {
  assert.deepEqual(spread([], 10, 0, 100), []);
  assert.deepEqual(spread([10, 50], 10, 0, 100), [10, 50]);
  assert.deepEqual(spread([50, 50, 50], 10, 0, 100), [40, 50, 60]);
  assert.deepEqual(spread([0, 0], 10, 5, 100), [5, 15]);
  assert.deepEqual(spread([99, 100], 10, 0, 100), [90, 100]);
  assert.deepEqual(spread([20, 41, 42, 43], 10, 0, 100), [20, 32, 42, 52]);
});

test("numbers have three digits and an SI prefix", () => {
  assert.equal(si(1.3149e12, "FLOP/s"), "1.31\u00a0TFLOP/s");
  assert.equal(si(4.8e12, "B/s"), "4.8\u00a0TB/s");
  assert.equal(si(999.9e9, "FLOP/s"), "1\u00a0TFLOP/s");
  assert.equal(si(0, "B/s"), "0\u00a0B/s");
  assert.equal(intensity(0.25), "0.25\u00a0FLOP/byte");
  assert.equal(intensity(1365.3), "1,365\u00a0FLOP/byte");
  assert.deepEqual([0.001, 0.999, 1, 1.4].map(percent), ["<1\u00a0%", ">99\u00a0%", "100\u00a0%", "140\u00a0%"]);
});
