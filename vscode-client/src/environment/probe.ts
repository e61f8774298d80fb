/** Asks a Python interpreter what it is and whether Kernelwright is installed in it, without importing anything heavy. */
import { run } from "./run";

export interface Probed {
  readonly python: string;
  /** Empty when Kernelwright is not installed there. */
  readonly kernelwright: string;
}

const QUESTION = `
import importlib.metadata as m, importlib.util as u, json, sys
try:
    version = m.version("kernelwright") if u.find_spec("kernelwright") else ""
except m.PackageNotFoundError:
    version = "unknown"
print(json.dumps({"python": "%d.%d.%d" % sys.version_info[:3], "kernelwright": version}))
`;

/** The server needs Python 3.11; `-P`, with which the question is asked, exists since then as well. */
export const OLDEST_PYTHON = "3.11";

/** What the interpreter says of itself, or one sentence on why it cannot be used. */
export async function probe(python: string): Promise<Probed | string> {
  const ran = await run(python, ["-P", "-c", QUESTION], { seconds: 20 });
  if (ran.code !== 0) return refusal(python, ran.stderr);
  try {
    return JSON.parse(ran.stdout) as Probed;
  } catch {
    return `${python} gave no readable answer: ${ran.stdout.slice(0, 200).trim()}`;
  }
}

export function refusal(python: string, stderr: string): string {
  if (/unknown option -P/i.test(stderr)) return `${python} is older than Python ${OLDEST_PYTHON}.`;
  const last = stderr.trim().split("\n").pop() ?? "";
  return `${python} could not be run${last ? `: ${last}` : "."}`;
}
