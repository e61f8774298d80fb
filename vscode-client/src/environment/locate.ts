/** Finds the server: the setting, then the selected interpreter, then the environment that the extension made. */
import { executableLaunch, isPython, pythonLaunch, type Located, type Look } from "./candidates";
import { managedPython, type Managed } from "./managed";
import { probe } from "./probe";

export interface Sought {
  /** `kernelwright.server.path`, expanded; empty when not set. */
  readonly setting: string;
  readonly interpreter?: string | undefined;
  readonly managed?: Managed | undefined;
  /** In a workspace that is not trusted its interpreter is not run. */
  readonly trusted: boolean;
}

export async function locate(sought: Sought): Promise<Located> {
  const looks: Look[] = [];
  const seen = sought.trusted && sought.interpreter ? { interpreter: sought.interpreter } : {};
  if (sought.setting) {
    if (!isPython(sought.setting)) return { launch: executableLaunch(sought.setting), looks, ...seen };
    const found = await probe(sought.setting);
    const version = typeof found === "string" ? "" : found.kernelwright;
    looks.push(look("setting", sought.setting, typeof found === "string" ? found : described(found)));
    // A setting that does not hold is not passed over in silence: the person would look for the fault elsewhere.
    return version ? { launch: pythonLaunch("setting", sought.setting, version), looks, ...seen } : { looks, ...seen };
  }
  if (!sought.trusted) {
    looks.push({
      source: "interpreter",
      where: "",
      found: false,
      detail: "not looked at: this workspace is not trusted",
    });
  } else if (sought.interpreter) {
    const found = await probe(sought.interpreter);
    looks.push(look("interpreter", sought.interpreter, typeof found === "string" ? found : described(found)));
    if (typeof found !== "string" && found.kernelwright) {
      return { launch: pythonLaunch("interpreter", sought.interpreter, found.kernelwright), looks, ...seen };
    }
  } else {
    looks.push({ source: "interpreter", where: "", found: false, detail: "no interpreter is selected" });
  }
  if (sought.managed === undefined) {
    looks.push({ source: "managed", where: "", found: false, detail: "this build of the extension carries no wheel" });
    return { looks, ...seen };
  }
  const python = await managedPython(sought.managed);
  const detail = python ? "made from the bundled wheel" : "not made yet";
  looks.push({ source: "managed", where: sought.managed.folder, found: python !== undefined, detail });
  if (python === undefined) return { looks, ...seen };
  return { launch: pythonLaunch("managed", python, wheelVersion(sought.managed.wheel)), looks, ...seen };
}

export function wheelVersion(wheel: string): string {
  return /kernelwright-([^-]+)-[^\\/]*$/.exec(wheel)?.[1] ?? "";
}

function described(found: { python: string; kernelwright: string }): { found: boolean; detail: string } {
  const has = found.kernelwright ? `Kernelwright ${found.kernelwright}` : "Kernelwright is not installed";
  return { found: found.kernelwright !== "", detail: `Python ${found.python}, ${has}` };
}

function look(source: Look["source"], where: string, said: string | { found: boolean; detail: string }): Look {
  return typeof said === "string" ? { source, where, found: false, detail: said } : { source, where, ...said };
}
