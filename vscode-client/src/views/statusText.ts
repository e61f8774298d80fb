/** The words of the status items, worked out from values. */
import { sentence, type ServerState } from "../client/state";

export interface Words {
  readonly text: string;
  readonly detail: string;
  readonly severity: "information" | "warning" | "error";
  readonly busy: boolean;
}

export function serverWords(
  state: ServerState,
  jobs: readonly { readonly title: string; readonly stage: string }[],
): Words {
  const [first] = jobs;
  const queue = jobs.length > 1 ? ` and ${jobs.length - 1} more` : "";
  const detail = first ? `${first.title}${first.stage ? `: ${first.stage}` : ""}${queue}` : sentence(state);
  const wrong =
    state.is === "failed" ? "error" : state.is === "missing" || state.is === "restarting" ? "warning" : "information";
  const busy = jobs.length > 0 || state.is === "looking" || state.is === "starting";
  return { text: "Kernelwright", detail, severity: wrong, busy };
}

/** No strategy asks a model yet; where one does, the person sees which. */
export const modelWords: Words = {
  text: "No model: edits are deterministic",
  detail: "Language model",
  severity: "information",
  busy: false,
};

/** The device as the doctor named it; "" before it was asked. */
export function deviceWords(gpu: { readonly found: boolean; readonly detail: string } | undefined): Words {
  const quiet = { detail: "Device of kernels", severity: "information", busy: false } as const;
  if (gpu === undefined) return { ...quiet, text: "GPU: not asked yet" };
  return { ...quiet, text: gpu.found ? gpu.detail : "No GPU: verified on the CPU, speed of GPU code is not measured" };
}
