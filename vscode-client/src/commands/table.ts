/** The server's commands on one kernel, as a person calls them. */

export interface KernelCommand {
  readonly id: string;
  /** What the job is called while it runs; `{}` stands for the kernel's name where that is known. */
  readonly title: string;
  /** Whether it runs the file's own code, which a workspace has to be trusted for. */
  readonly runsCode: boolean;
}

export const KERNEL_COMMANDS: readonly KernelCommand[] = [
  { id: "kernelwright.optimize", title: "Optimize {}", runsCode: true },
  { id: "kernelwright.autopilot", title: "Optimize {}: autopilot", runsCode: true },
  { id: "kernelwright.verify", title: "Verify {}", runsCode: true },
  { id: "kernelwright.measure", title: "Measure {}", runsCode: true },
  { id: "kernelwright.replay", title: "Replay the steps of {}", runsCode: true },
  { id: "kernelwright.infer", title: "Write a workload line for {}", runsCode: true },
  { id: "kernelwright.forgetLines", title: "Forget the journal's workload lines for {}", runsCode: false },
  { id: "kernelwright.revert", title: "Revert {}", runsCode: false },
  { id: "kernelwright.resetBaseline", title: "Reset the baseline of {}", runsCode: false },
];

export const APPLY: KernelCommand = { id: "kernelwright.apply", title: "Optimize {}", runsCode: true };
export const PROFILE: KernelCommand = { id: "kernelwright.profile", title: "Profile {}", runsCode: true };
export const EXPORT: KernelCommand = { id: "kernelwright.export", title: "Export {}", runsCode: false };

export const RECORD: KernelCommand = { id: "kernelwright.record", title: "Record workloads", runsCode: true };

/** The argument of the server's commands (docs/protocol.md). */
export interface Subject {
  readonly uri: string;
  readonly kernel?: string;
  readonly line?: number;
  readonly strategy?: string;
  readonly step?: string;
  readonly preview?: boolean;
  readonly quiet?: boolean;
  /** The test or script to run, by its path. */
  readonly script?: string;
}

export function titled(command: KernelCommand, subject: Subject): string {
  return command.title.replace("{}", subject.kernel ?? "kernel");
}

/** A subject among what a lens, a menu, a key binding or nobody handed over. */
export function given(argument: unknown): Partial<Subject> {
  if (typeof argument === "string") return { uri: argument };
  if (typeof argument !== "object" || argument === null) return {};
  const types = {
    uri: "string",
    kernel: "string",
    strategy: "string",
    step: "string",
    line: "number",
    preview: "boolean",
  };
  const known = Object.entries(argument).filter(([key, value]) => typeof value === types[key as keyof typeof types]);
  return Object.fromEntries(known);
}
