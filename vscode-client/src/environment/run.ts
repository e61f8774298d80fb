/** Runs a program to its end without a shell. */
import { spawn } from "node:child_process";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly seconds?: number;
  readonly signal?: AbortSignal;
  readonly onLine?: (line: string) => void;
}

/** Never rejects: a program that cannot be started ends with code -1 and the reason in `stderr`. */
export function run(command: string, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return new Promise((resolve) => {
    const timeout = options.seconds === undefined ? undefined : options.seconds * 1000;
    const child = spawn(command, args, {
      stdio: ["ignore", "pipe", "pipe"],
      windowsHide: true,
      ...(timeout === undefined ? {} : { timeout }),
      ...(options.signal === undefined ? {} : { signal: options.signal }),
    });
    let stdout = "";
    let stderr = "";
    child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
      stdout += chunk;
      for (const line of chunk.split("\n")) if (line.trim()) options.onLine?.(line.trimEnd());
    });
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
    child.on("error", (error) => resolve({ code: -1, stdout, stderr: error.message }));
    child.on("close", (code, signal) => resolve({ code: code ?? -1, stdout, stderr: stderr || (signal ?? "") }));
  });
}
