// What the suite needs before a window can be opened: a browser, code-server from npm, the extension as it is shipped.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
export const client = path.join(here, "../..");
export const repository = path.join(client, "..");
export const home = path.join(here, "code-server");
export const code = path.join(home, "node_modules/code-server/lib/vscode");
const ready = path.join(home, "node_modules/.ready");

const BROWSERS = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
export const browser = process.env.CHROMIUM ?? BROWSERS.find((file) => existsSync(file));

/** Why the suite cannot run on this machine, in one sentence; undefined where it can. */
export function unmet() {
  if (process.platform !== "linux") return "The extension's tests in a real editor were left out: they need Linux.";
  if (browser !== undefined) return undefined;
  return "The extension's tests in a real editor were left out: there is no Chromium; install the package `chromium`.";
}

/** Installs and packs what is missing or out of date, both at once; the answer is the packed extension. */
export async function prepared() {
  const { version } = JSON.parse(readFileSync(path.join(client, "package.json"), "utf8"));
  const vsix = path.join(client, "dist", `kernelwright-${version}.vsix`);
  await Promise.all([editor(), packed(vsix)]);
  return vsix;
}

/** Once for each lockfile. No script of any package is run: what code-server needs comes ready or is not used here. */
async function editor() {
  const lock = createHash("sha256")
    .update(readFileSync(path.join(home, "package-lock.json")))
    .digest("hex");
  if (existsSync(ready) && readFileSync(ready, "utf8") === lock) return;
  await must(home, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error");
  // VS Code looks for its modules beside itself, under two names.
  for (const name of ["node_modules", "node_modules.asar"]) {
    rmSync(path.join(code, name), { recursive: true, force: true });
    symlinkSync("../../..", path.join(code, name));
  }
  writeFileSync(ready, lock);
}

async function packed(vsix) {
  const own = ["src", "package.json", "walkthrough", "media", "README.md"];
  const sources = [...own.map((name) => `vscode-client/${name}`), "grammars", "server/kernelwright"];
  const newest = Math.max(...sources.map((name) => changed(path.join(repository, name))));
  if (existsSync(vsix) && statSync(vsix).mtimeMs > newest) return;
  await must(repository, "npm", "run", "--silent", "package", "-w", "vscode-client");
}

/** When a file, or the youngest in a folder, was written; what Python keeps for itself does not count. */
function changed(place) {
  const found = statSync(place);
  if (!found.isDirectory()) return found.mtimeMs;
  const names = readdirSync(place).filter((name) => name !== "__pycache__");
  return Math.max(0, ...names.map((name) => changed(path.join(place, name))));
}

/** What a program says is shown only when it fails. */
function must(cwd, command, ...args) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, stdio: ["ignore", "pipe", "pipe"] });
    let said = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (said += chunk));
    child.on("error", reject);
    child.on("close", (status) =>
      status === 0 ? resolve() : reject(new Error(`${command} ${args.join(" ")} failed:\n${said}`)),
    );
  });
}
