/** What the server is doing, as one value: the status item, the doctor and the views read it. */

export type ServerState =
  | { readonly is: "idle" }
  | { readonly is: "looking" }
  | { readonly is: "missing" }
  | { readonly is: "starting" }
  | { readonly is: "running"; readonly version: string }
  | { readonly is: "restarting"; readonly seconds: number }
  | { readonly is: "stopped" }
  | { readonly is: "failed"; readonly reason: string };

export function sentence(state: ServerState): string {
  switch (state.is) {
    case "idle":
      return "Not started: no file with kernels was opened yet";
    case "looking":
      return "Looking for the server";
    case "missing":
      return "The server is not installed";
    case "starting":
      return "Starting";
    case "running":
      return state.version ? `Running, version ${state.version}` : "Running";
    case "restarting":
      return `Ended unexpectedly; starting again in ${state.seconds} s`;
    case "stopped":
      return "Stopped";
    case "failed":
      return state.reason;
  }
}
