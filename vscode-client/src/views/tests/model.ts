/** The last verdict of a kernel as results for the Test Explorer: one test a check, its evidence as the message. */
import type { Check, Step } from "../../client/answers";

export interface Result {
  readonly id: string;
  readonly label: string;
  readonly passed: boolean;
  readonly message: string;
}

/** The checks of the newest step that has a verdict, and stands or was turned down by it; a name that recurs is numbered. */
export function results(steps: readonly Step[]): readonly Result[] {
  const last = steps.findLast((step) => step.outcome !== "reverted" && step.verdict !== null);
  const seen = new Map<string, number>();
  return (last?.verdict?.checks ?? []).map((check) => {
    const label = [check.name, check.case].filter(Boolean).join(" · ");
    const times = (seen.get(label) ?? 0) + 1;
    seen.set(label, times);
    return { id: `${label}#${times}`, label, passed: check.passed, message: message(check) };
  });
}

function message(check: Check): string {
  return check.detail || `${check.name} ${check.passed ? "passed" : "failed"}`;
}
