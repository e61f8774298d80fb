/** How VS Code's agents start Kernelwright: `kernelwright mcp`, by the Python that runs the language server. */
import type { Launch } from "../environment/candidates";

export interface Definition {
  readonly label: string;
  readonly command: string;
  readonly args: readonly string[];
}

/** `folder`: the only one that the agents' tools look at. `interpreter`: the Python that has torch, where it is another one. */
export function definition(launch: Launch, folder: string, interpreter: string): Definition {
  const start = launch.python ? ["-P", "-m", "kernelwright", "mcp"] : ["mcp"];
  const other = interpreter && interpreter !== launch.python ? ["--interpreter", interpreter] : [];
  return { label: "Kernelwright", command: launch.command, args: [...start, "--workspace", folder, ...other] };
}
