/** What was measured of a kernel: its baseline, and every step whose number may be said. */
import { measured, type Measurement, type Step } from "../../client/answers";

export type Kind = "baseline" | "kept" | "rejected" | "reverted";

export interface Point {
  /** The step's number among all of the kernel, from 1; 0 for the baseline. */
  readonly number: number;
  /** "Baseline", or the step's strategy. */
  readonly name: string;
  readonly kind: Kind;
  readonly ms: number;
  readonly measured: Measurement;
  /** Whether it is the text as it is now. */
  readonly current: boolean;
}

/** In the order of the steps, the baseline first. Empty when nothing was measured. */
export function points(steps: readonly Step[]): readonly Point[] {
  const last = steps.filter(({ outcome }) => outcome === "kept").at(-1);
  const found = steps.flatMap((step, at): Point[] => {
    const number = measured(step);
    if (number === undefined) return [];
    const { strategy: name } = step.action;
    const ms = number.candidate.median_ms;
    return [{ number: at + 1, name, kind: step.outcome, ms, measured: number, current: step === last }];
  });
  const told = (found.find(({ current }) => current) ?? found.at(-1))?.measured;
  if (told === undefined) return [];
  const { median_ms: ms } = told.baseline;
  const kind = "baseline";
  return [{ number: 0, name: "Baseline", kind, ms, measured: told, current: last === undefined }, ...found];
}

/** "Baseline" or "Step 2", and what has become of it. */
export function described({ number, kind, current }: Point): string {
  const name = number === 0 ? "Baseline" : `Step ${number}`;
  const state = current ? "now" : kind === "rejected" || kind === "reverted" ? kind : "";
  return state ? `${name}, ${state}` : name;
}
