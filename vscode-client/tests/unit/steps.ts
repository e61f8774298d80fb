/** Steps as the server sends them, for tests. */
import type { Measurement, Roof, Step, Verdict } from "../../src/client/answers";

export function verdict(changed: Partial<Verdict> = {}): Verdict {
  const check = { name: "values", case: "seed 0", passed: true, detail: "max |err| 2.4e-7" };
  return {
    status: "passed",
    text_hash: "after",
    baseline_hash: "base",
    checks: [check, { ...check, name: "dtype" }],
    reason: "",
    how: "on NVIDIA H200",
    ...changed,
  };
}

/** On an H200 in float32: 1 FLOP/byte, under a roof of 4.8 TFLOP/s, with the ridge at 14. */
export function roof(changed: Partial<Roof> = {}): Roof {
  return { bytes: 4e8, flops: 4e8, dtype: "float32", bandwidth: 4.8e12, peak_flops: 6.7e13, ...changed };
}

export function measurement(changed: Partial<Measurement> = {}): Measurement {
  const timing = { median_ms: 0.42, p10_ms: 0.41, p90_ms: 0.43, samples: 50 };
  return {
    text_hash: "after",
    baseline_hash: "base",
    device: "NVIDIA H200",
    baseline: timing,
    previous: timing,
    candidate: { ...timing, median_ms: 0.18 },
    speedup: 2.333,
    speedup_low: 2.28,
    speedup_high: 2.39,
    step_speedup: 2.333,
    conditions: { dtype: "float32" },
    floor_ms: null,
    ...changed,
  };
}

export function step(changed: Partial<Step> = {}): Step {
  return {
    $: "Step",
    id: "s1",
    kernel: "softmax",
    action: { strategy: "triton.tune-launch", region: { label: "" } },
    edits: { summary: "BLOCK=2048" },
    before_hash: "base",
    after_hash: "after",
    outcome: "kept",
    reason: "",
    verdict: verdict(),
    measurement: measurement(),
    failure: null,
    created: "2026-01-01T00:00:00Z",
    ...changed,
  };
}
