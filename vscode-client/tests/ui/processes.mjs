// The processes that belong to a window: those that were started in its folder, or by a program in it.
import { readFileSync, readdirSync, readlinkSync } from "node:fs";

/** Their ids; with `module` only those that run this Python module. */
export function processes(folder, module = "") {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, "utf8");
        const here = line.includes(folder) || readlinkSync(`/proc/${pid}/cwd`).startsWith(folder);
        return here && line.includes(module);
      } catch {
        return false; // it has ended meanwhile
      }
    })
    .map(Number);
}
