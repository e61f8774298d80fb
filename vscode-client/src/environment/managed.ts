/** The environment that the extension makes for its server, in the editor's global storage, from the bundled wheel. */
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { pythonIn } from "./candidates";
import { run, type RunOptions } from "./run";

const MARK = "kernelwright-wheel.sha256"; // written last: an environment without it was not finished

export interface Managed {
  readonly folder: string;
  readonly wheel: string;
}

/** The wheel that `npm run package` put into the extension; undefined in a checkout where none was built. */
export async function bundledWheel(extensionPath: string): Promise<string | undefined> {
  const folder = path.join(extensionPath, "dist", "server");
  const names = await readdir(folder).catch(() => []);
  const wheel = names
    .filter((name) => /^kernelwright-.*\.whl$/.test(name))
    .sort()
    .pop();
  return wheel === undefined ? undefined : path.join(folder, wheel);
}

/** The interpreter of a finished environment that was made from this very wheel. */
export async function managedPython({ folder, wheel }: Managed): Promise<string | undefined> {
  const made = await readFile(path.join(folder, MARK), "utf8").catch(() => "");
  return made !== "" && made === (await digest(wheel)) ? pythonIn(folder, process.platform) : undefined;
}

/** Makes the environment anew; the answer is its interpreter, or one sentence on what failed and how to mend it. */
export async function makeManaged(
  { folder, wheel }: Managed,
  base: string,
  options: RunOptions = {},
): Promise<{ python: string } | { reason: string }> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(path.dirname(folder), { recursive: true });
  const made = await run(base, ["-m", "venv", folder], options);
  if (made.code !== 0) {
    const lacking = /ensurepip|No module named venv/.test(made.stdout + made.stderr);
    const mend = lacking ? " Install your system's venv package (on Debian and Ubuntu: python3-venv)." : "";
    return { reason: `${base} could not make a virtual environment.${mend}\n${made.stdout}${made.stderr}` };
  }
  const python = pythonIn(folder, process.platform);
  const pip = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input"];
  const installed = await run(python, [...pip, `${wheel}[mcp]`], options);
  if (installed.code !== 0) {
    const reason = "The server's packages could not be installed; is the package index reachable from here?";
    return { reason: `${reason}\n${installed.stderr}` };
  }
  await run(python, [...pip, `${wheel}[z3]`], options); // not built for each platform; the doctor tells where it is missing
  await writeFile(path.join(folder, MARK), await digest(wheel));
  return { python };
}

async function digest(file: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(file))
    .digest("hex");
}
