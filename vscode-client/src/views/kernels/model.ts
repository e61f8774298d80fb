/** The kernels view as values: files, their kernels, and the steps of each with strategy, speedup and verdict. */
import { measured, milliseconds, reduced, type Step } from "../../client/answers";

export interface FileNode {
  readonly is: "file";
  readonly uri: string;
}

export interface KernelNode {
  readonly is: "kernel";
  readonly uri: string;
  readonly name: string;
  readonly line: number;
  readonly steps: readonly Step[];
  /** Why it cannot be called; empty where a workload line says how. */
  readonly missing: string;
}

export interface StepNode {
  readonly is: "step";
  readonly uri: string;
  readonly step: Step;
  /** Its place among the kernel's steps, from 1. */
  readonly number: number;
  /** The next kept step after it; undefined when it is the last one that stands. */
  readonly next: Step | undefined;
}

export type Node = FileNode | KernelNode | StepNode;

export function kernelNodes(
  uri: string,
  kernels: readonly { readonly name: string; readonly line: number; readonly missing?: string }[],
  steps: readonly Step[],
): readonly KernelNode[] {
  return kernels.map(({ name, line, missing = "" }) => {
    return { is: "kernel", uri, name, line, steps: steps.filter((step) => step.kernel === name), missing };
  });
}

export function stepNodes(kernel: KernelNode): readonly StepNode[] {
  return kernel.steps.map((step, at) => {
    const next = kernel.steps.slice(at + 1).find((later) => later.outcome === "kept");
    return { is: "step", uri: kernel.uri, step, number: at + 1, next };
  });
}

/** "2.31x", where a number may be said; "not measured" for a kept step without one. */
export function speedup(step: Step): string {
  const found = measured(step);
  return found ? `${found.speedup.toFixed(2)}x` : step.outcome === "kept" ? "not measured" : "";
}

export function verdict(step: Step): string {
  if (step.failure !== null) return step.failure.kind;
  if (step.verdict === null) return step.outcome;
  const count = step.verdict.checks.length;
  const accuracy = step.verdict.accuracy ? `, ${step.verdict.accuracy}` : "";
  return step.verdict.status === "passed"
    ? `passed ${count} check${count === 1 ? "" : "s"}${accuracy}`
    : step.verdict.status;
}

export interface Look {
  readonly label: string;
  readonly description: string;
  readonly tooltip: string;
  readonly icon: string;
  /** What menus are shown for. */
  readonly context: string;
}

export function kernelLook(kernel: KernelNode): Look {
  const kept = kernel.steps.filter((step) => step.outcome === "kept");
  const last = kept.at(-1);
  const told = last
    ? [`${kept.length} kept`, speedup(last), reduced(last)].filter(Boolean)
    : kernel.steps.length
      ? ["nothing kept"]
      : [kernel.missing ? "no workload" : "no steps yet"];
  const tooltip = last?.sentence ?? (kernel.missing || `${kernel.name}: ${told.join(", ")}`);
  return {
    label: kernel.name,
    description: told.join(" · "),
    tooltip,
    icon: "symbol-method",
    context: last ? "kernel-kept" : kernel.missing ? "kernel-lacking" : "kernel",
  };
}

export function stepLook({ step, number, next }: StepNode): Look {
  const icons = { kept: "pass", rejected: "circle-slash", reverted: "discard" } as const;
  const parts = step.outcome === "kept" ? [speedup(step), verdict(step)] : [step.outcome, verdict(step)];
  const description = [...new Set(parts)].filter(Boolean).join(" · ");
  const context = `step-${step.outcome}${step.outcome === "kept" && next ? "-followed" : ""}`;
  const tooltip = step.sentence ?? step.reason;
  return { label: `${number}. ${step.action.strategy}`, description, tooltip, icon: icons[step.outcome], context };
}

/** One step's figures as lines of text, for the clipboard. Without a green gate there are none. */
export function figures({ step }: StepNode): string {
  const found = measured(step);
  const head = `${step.kernel}: ${step.action.strategy}${step.edits?.summary ? ` (${step.edits.summary})` : ""}`;
  if (found === undefined) return [head, `${step.outcome}, ${verdict(step)}`, step.sentence ?? step.reason].join("\n");
  const { baseline, candidate, conditions } = found;
  return [
    head,
    `speedup ${found.speedup.toFixed(3)}x (95 % CI ${found.speedup_low.toFixed(3)}-${found.speedup_high.toFixed(3)})`,
    `baseline ${milliseconds(baseline.median_ms)} ms, now ${milliseconds(candidate.median_ms)} ms (medians of ${candidate.samples} samples)`,
    `device ${found.device}`,
    ...Object.entries(conditions).map(([name, value]) => `${name}: ${value}`),
    verdict(step),
  ].join("\n");
}
