/** The server's answers (docs/protocol.md) as types, and the rule for what may be said of them. */

export interface Refusal {
  readonly $: "Refusal";
  readonly reason: string;
}

export interface Failure {
  readonly $: "Failure";
  readonly kind: string;
  readonly message: string;
  readonly detail?: string;
}

export interface Check {
  readonly name: string;
  readonly case: string;
  readonly passed: boolean;
  readonly detail: string;
}

export interface Verdict {
  readonly status: "passed" | "failed" | "not checkable";
  readonly text_hash: string;
  readonly baseline_hash: string;
  readonly checks: readonly Check[];
  readonly reason: string;
  readonly how: string;
  /** Absent in steps of earlier versions. */
  readonly unchecked?: readonly { readonly name: string; readonly why: string }[];
  readonly accuracy?: "bit-exact" | "as accurate as the baseline" | "reduced accuracy" | null;
  readonly effort?: "quick" | "standard" | "paranoid";
}

export interface Timing {
  readonly median_ms: number;
  readonly p10_ms: number;
  readonly p90_ms: number;
  readonly samples: number;
}

/** A kernel's work and the ceilings over it: bytes and FLOP of one call, bytes/s and FLOP/s of the device; 0: not known. */
export interface Roof {
  readonly bytes: number;
  readonly flops: number;
  readonly dtype: string;
  readonly bandwidth: number;
  readonly peak_flops: number;
}

export interface Measurement {
  readonly text_hash: string;
  readonly baseline_hash: string;
  readonly device: string;
  readonly baseline: Timing;
  readonly previous: Timing;
  readonly candidate: Timing;
  readonly speedup: number;
  readonly speedup_low: number;
  readonly speedup_high: number;
  readonly step_speedup: number;
  readonly conditions: Readonly<Record<string, string>>;
  readonly floor_ms: number | null;
  /** Absent in steps of earlier versions, null where the work is not known. */
  readonly roof?: Roof | null;
}

export interface Step {
  readonly $: "Step";
  readonly id: string;
  readonly kernel: string;
  readonly action: { readonly strategy: string; readonly region: { readonly label: string } };
  readonly edits: { readonly summary: string } | null;
  readonly before_hash: string;
  readonly after_hash: string;
  readonly outcome: "kept" | "rejected" | "reverted";
  readonly reason: string;
  readonly verdict: Verdict | null;
  readonly measurement: Measurement | null;
  readonly failure: Failure | null;
  readonly created: string;
  /** The line that a person reads; only in the answer of `kernelwright.history`. */
  readonly sentence?: string;
  /** The server's word on whether the number may be said; only there as well. */
  readonly measured?: boolean;
  /** The texts around the step, where they were asked for and are still known. */
  readonly before?: string | null;
  readonly after?: string | null;
}

export interface DoctorLine {
  readonly name: string;
  readonly found: boolean;
  readonly detail: string;
  readonly remedy: string;
}

export interface ProfiledKernel {
  readonly name: string;
  readonly origin: string;
  readonly launches: number;
  readonly time_us: number | null;
  readonly share: number | null;
}

export interface ProfileResult {
  readonly $: "ProfileResult";
  readonly device: string;
  readonly kernels: readonly ProfiledKernel[];
  readonly sentence: string;
  readonly unmeasured: string;
}

export type Declined = Refusal | Failure;

export function isDeclined(answer: unknown): answer is Declined {
  const kind = (answer as { $?: unknown } | null)?.$;
  return kind === "Refusal" || kind === "Failure";
}

/**
 * The Measurement of a step where its number may be said: the gate passed on the very text that was measured and the
 * time is possible. The server's word decides where it gave it; this is the same rule for a step without one.
 */
export function measured(step: Pick<Step, "verdict" | "measurement" | "measured">): Measurement | undefined {
  const { verdict, measurement } = step;
  if (step.measured === false || verdict?.effort === "quick") return undefined;
  if (verdict?.status !== "passed" || !measurement) return undefined;
  const same = verdict.text_hash === measurement.text_hash && verdict.baseline_hash === measurement.baseline_hash;
  return same ? measurement : undefined;
}

/** What has to stand wherever the step is shown as verified; "" for any other. */
export function reduced(step: Pick<Step, "verdict">): string {
  return step.verdict?.accuracy === "reduced accuracy" ? "reduced accuracy" : "";
}

/** Milliseconds with three significant digits: "0.42", "12.3", "0.00871". */
export function milliseconds(value: number): string {
  return value >= 100 ? value.toFixed(0) : `${Number(value.toPrecision(3))}`;
}
