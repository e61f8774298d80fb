// An editor with the packaged extension, and the page of it that a person would see.
import { spawn, spawnSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const client = path.join(here, "../..");
const repository = path.join(client, "..");
const cache = process.env.XDG_CACHE_HOME ?? path.join(os.homedir(), ".cache");
export const home = process.env.KERNELWRIGHT_CODE_SERVER ?? path.join(cache, "kernelwright", "code-server-4.100.3");
const entry = path.join(home, "node_modules/code-server/out/node/entry.js");
const PATIENCE_MS = Number(process.env.PATIENCE_MS ?? 180_000); // for a worker that imports torch on a busy machine

const SETTINGS = {
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "telemetry.telemetryLevel": "off",
  "extensions.autoUpdate": false,
  "extensions.autoCheckUpdates": false,
  "extensions.ignoreRecommendations": true,
  "git.enabled": false,
  "editor.minimap.enabled": false,
  "editor.hover.delay": 100,
  "files.autoSave": "off",
  "chat.disableAIFeatures": true,
  "kernelwright.threads": 1,
  "kernelwright.timingBudget": 0.2,
};

/** Installs code-server where it is missing, and packs the extension where that was not done. */
export function prepare() {
  if (!existsSync(path.join(home, ".ready")) && !existsSync(entry)) must(path.join(here, "install.sh"), home);
  const { version } = JSON.parse(readFileSync(path.join(client, "package.json"), "utf8"));
  const vsix = path.join(client, "dist", `kernelwright-${version}.vsix`);
  if (!existsSync(vsix)) must("npm", "run", "--silent", "package", "-w", "vscode-client");
  return vsix;
}

/** A window on a copy of workspace/, with `settings` on top; `bare` leaves out the environment that has Kernelwright. */
export async function open(vsix, { settings = {}, bare = false, env = {} } = {}) {
  const { chromium } = createRequire(path.join(home, "package.json"))("playwright-core");
  const root = mkdtempSync(path.join(os.tmpdir(), "kernelwright-ui-"));
  const workspace = path.join(root, "workspace");
  cpSync(path.join(here, "workspace"), workspace, { recursive: true });
  if (!bare) symlinkSync(path.join(repository, ".venv"), path.join(workspace, ".venv"));
  mkdirSync(path.join(root, "data/User"), { recursive: true });
  writeFileSync(path.join(root, "data/User/settings.json"), JSON.stringify({ ...SETTINGS, ...settings }));
  const folders = ["--user-data-dir", path.join(root, "data"), "--extensions-dir", path.join(root, "extensions")];
  const environment = {
    ...process.env,
    ...env,
    XDG_CONFIG_HOME: `${root}/xdg`,
    XDG_DATA_HOME: `${root}/xdg`,
    EXTENSIONS_GALLERY: "{}",
  };
  const installed = spawnSync(process.execPath, [entry, ...folders, "--install-extension", vsix], { env: environment });
  if (installed.status !== 0) throw new Error(`${installed.stdout}${installed.stderr}`);

  const port = await freePort();
  const quiet = [
    "--disable-telemetry",
    "--disable-update-check",
    "--disable-workspace-trust",
    "--disable-getting-started-override",
  ];
  const log = openSync(path.join(root, "server.log"), "w");
  const server = spawn(
    process.execPath,
    [entry, "--auth", "none", "--bind-addr", `127.0.0.1:${port}`, ...folders, ...quiet],
    { detached: true, stdio: ["ignore", log, log], env: environment },
  );
  await until(async () => (await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined))?.ok, "code-server");
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"],
  });
  const context = await browser.newContext({
    viewport: { width: 1280, height: 800 },
    permissions: ["clipboard-read", "clipboard-write"],
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const openFile = async (file) => {
    const payload = JSON.stringify([["openFile", `vscode-remote://127.0.0.1:${port}${workspace}/${file}`]]);
    const query = `folder=${encodeURIComponent(workspace)}&payload=${encodeURIComponent(payload)}`;
    await page.goto(`http://127.0.0.1:${port}/?${query}`);
    await page.waitForSelector(".monaco-editor .view-line");
  };
  const close = async () => {
    await browser.close();
    process.kill(-server.pid, "SIGTERM"); // its own group: the extension host and the language server with it
  };
  return { page, root, workspace, openFile, close };
}

/** Tests that go on from one another in one window; a failing one leaves a picture of it. */
export function steps(editor) {
  return (name, run) =>
    test(name, async () => {
      try {
        await run();
      } catch (error) {
        const { page, root } = editor();
        const shot = path.join(root, `${name.replace(/\W+/g, "-")}.png`);
        await page.screenshot({ path: shot });
        error.stack += `\nscreenshot: ${shot}`;
        throw error;
      }
    });
}

export async function until(condition, what) {
  const deadline = Date.now() + PATIENCE_MS;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (Date.now() > deadline) throw new Error(`not within ${PATIENCE_MS / 1000} s: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function must(command, ...args) {
  const { status } = spawnSync(command, args, { cwd: repository, stdio: "inherit" });
  if (status !== 0) throw new Error(`${command} ${args.join(" ")} failed`);
}

function freePort() {
  return new Promise((resolve) => {
    const probe = net.createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
