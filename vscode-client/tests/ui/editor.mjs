// One editor and one browser for the whole suite, and windows in them: each with a folder, a profile and settings of its own.
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, openSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { person } from "./person.mjs";
import { furnish, LOOKS, picture, taking } from "./pictures.mjs";
import { browser as executable, home, repository } from "./prepare.mjs";
import { processes } from "./processes.mjs";
import { PATIENCE_MS, until } from "./until.mjs";

const entry = path.join(home, "node_modules/code-server/out/node/entry.js");
const recordings = fileURLToPath(new URL("recorded", import.meta.url));
const remember = fileURLToPath(new URL("remember.py", import.meta.url));

const SETTINGS = {
  "workbench.startupEditor": "none",
  "workbench.tips.enabled": false,
  "workbench.reduceMotion": "on",
  "telemetry.telemetryLevel": "off",
  "extensions.autoUpdate": false,
  "extensions.autoCheckUpdates": false,
  "extensions.ignoreRecommendations": true,
  "git.enabled": false,
  "security.workspace.trust.enabled": false,
  "editor.minimap.enabled": false,
  "editor.cursorBlinking": "solid",
  "editor.hover.delay": 100,
  "files.autoSave": "off",
  "chat.disableAIFeatures": true,
  "kernelwright.threads": 1,
  "kernelwright.timingBudget": 0.2,
};

let running; // one suite, one editor

export async function start(vsix) {
  const root = mkdtempSync(path.join(os.tmpdir(), "kernelwright-ui-"));
  const folders = ["--user-data-dir", path.join(root, "data"), "--extensions-dir", path.join(root, "extensions")];
  const environment = { ...process.env, PATH: systemPath(), EXTENSIONS_GALLERY: "{}" };
  for (const name of ["CONFIG", "DATA", "STATE"]) environment[`XDG_${name}_HOME`] = path.join(root, "xdg");
  delete environment.PYTHONPATH;
  const installed = spawnSync(process.execPath, [entry, ...folders, "--install-extension", vsix], { env: environment });
  if (installed.status !== 0) throw new Error(`${installed.stdout}${installed.stderr}`);

  const port = await freePort();
  const quiet = [
    "--auth",
    "none",
    "--disable-telemetry",
    "--disable-update-check",
    "--disable-getting-started-override",
  ];
  const log = openSync(path.join(root, "code-server.log"), "w");
  const server = spawn(process.execPath, [entry, "--bind-addr", `127.0.0.1:${port}`, ...folders, ...quiet], {
    detached: true,
    stdio: ["ignore", log, log],
    env: environment,
  });
  process.on("exit", () => kill(server)); // also when the suite itself fails or is interrupted
  for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));
  const { chromium } = createRequire(path.join(home, "package.json"))("playwright-core");
  // With a profile on disk what a window has loaded and compiled is there for the next one.
  const browser = await chromium.launchPersistentContext(path.join(root, "browser"), {
    executablePath: executable,
    viewport: { width: 1280, height: 720 },
    deviceScaleFactor: taking ? 1.6 : 1,
    reducedMotion: "reduce",
    permissions: ["clipboard-read", "clipboard-write"],
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--disable-dev-shm-usage",
      "--no-first-run",
      "--disable-background-networking",
    ],
  });
  await browser.addInitScript(still);
  await until(async () => (await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => undefined))?.ok, "code-server");
  running = { root, port, server, browser };
}

export async function stop() {
  await running.browser.close();
  kill(running.server);
  if (!process.exitCode) rmSync(running.root, { recursive: true, force: true, maxRetries: 5 });
}

/**
 * A window on a copy of the folder `files` that shows `file`; `bare` leaves out the environment that has Kernelwright. With
 * `recorded` the folder has the file and the steps of that record. With `host` the extension comes from its folder,
 * with others beside it that may use proposals, and VS Code runs a suite in its extension host. `another` opens one more window on the same copy.
 */
export async function open(file, { settings = {}, files = "workspace", bare = false, recorded, host } = {}) {
  const { root } = running;
  const workspace = path.join(mkdtempSync(path.join(root, "window-")), "kernels");
  cpSync(fileURLToPath(new URL(files, import.meta.url)), workspace, { recursive: true });
  if (!bare) symlinkSync(path.join(repository, ".venv"), path.join(workspace, ".venv"));
  if (recorded) {
    const python = path.join(repository, ".venv/bin/python");
    const { status, stderr } = spawnSync(python, [remember, path.join(recordings, recorded), workspace]);
    if (status !== 0) throw new Error(`${stderr}`);
  }
  // Paths belong to the machine that the server runs on: among a person's own settings they do not hold in a remote window.
  const ours = Object.entries(settings).filter(([name]) => name.startsWith("kernelwright."));
  for (const [folder, content] of [
    ["User", { ...SETTINGS, ...LOOKS, ...settings }],
    ["Machine", Object.fromEntries(ours)],
  ]) {
    mkdirSync(path.join(root, "data", folder), { recursive: true });
    writeFileSync(path.join(root, "data", folder, "settings.json"), JSON.stringify(content));
  }
  const shown = [await show(workspace, file, host)];
  const another = async (name) => {
    shown.push(await show(workspace, name));
    return shown.at(-1);
  };
  const close = async () => {
    for (const one of shown) await one.close();
    await forget();
    await until(() => processes(workspace).length === 0, "the end of a closed window's processes");
  };
  return { ...shown[0], workspace, data: path.join(root, "data"), another, close };
}

/** Leaves nothing in the browser of what windows have stored there. */
async function forget() {
  const { port, browser } = running;
  await browser.clearCookies();
  const session = await browser.newCDPSession(browser.pages()[0]);
  const storageTypes = "local_storage,indexeddb,service_workers,file_systems";
  await session.send("Storage.clearDataForOrigin", { origin: `http://127.0.0.1:${port}`, storageTypes });
  await session.detach();
}

/** One window of a folder. */
async function show(workspace, file, host) {
  const { port, browser } = running;
  const page = await browser.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  if (host) await hosting(page, host);
  const load = async (name) => {
    const remote = (file) => `vscode-remote://127.0.0.1:${port}${file}`;
    const suite = host && [
      ...[host.development].flat().map((folder) => ["extensionDevelopmentPath", remote(folder)]),
      ["enableProposedApi", ""],
      ["extensionTestsPath", remote(host.tests)],
    ];
    const payload = JSON.stringify([["openFile", remote(`${workspace}/${name}`)], ...(suite ?? [])]);
    await page.goto(
      `http://127.0.0.1:${port}/?folder=${encodeURIComponent(workspace)}&payload=${encodeURIComponent(payload)}`,
    );
    await page.waitForSelector(".monaco-editor .view-line");
  };
  await load(file);
  await furnish(page);
  const close = async () => {
    await page.goto("about:blank"); // a person's window says good-bye; one whose page is closed does not
    await page.close();
  };
  return { page, me: person(page), picture: picture(page), load, close };
}

/** Stops what turns or runs while a job lasts: without a GPU each of its pictures is drawn by the processor. */
function still() {
  const { CSSStyleSheet, document } = globalThis;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("*, ::before, ::after { animation: none !important; }");
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
}

/** How a suite in the extension host speaks to us, which VS Code allows where its page says that it is driven. */
async function hosting(page, { log, ended }) {
  await page.exposeFunction("codeAutomationExit", ended);
  await page.exposeFunction("codeAutomationLog", (_, words) => log(words.map(String).join(" ")));
  await page.addInitScript(() => {
    const { document, MutationObserver } = globalThis;
    new MutationObserver((_, observer) => {
      const found = document.getElementById("vscode-workbench-web-configuration");
      if (!found) return;
      observer.disconnect();
      const configuration = JSON.parse(found.getAttribute("data-settings"));
      configuration.developmentOptions = { ...configuration.developmentOptions, enableSmokeTestDriver: true };
      found.setAttribute("data-settings", JSON.stringify(configuration));
    }).observe(document, { childList: true, subtree: true });
  });
}

/** The path without virtual environments: the Python that a bare window finds has no Kernelwright. */
function systemPath() {
  const folders = (process.env.PATH ?? "").split(path.delimiter);
  return folders.filter((folder) => !folder.startsWith(path.join(repository, ".venv"))).join(path.delimiter);
}

/** The server has a process group of its own: the extension hosts and the language servers are in it. */
function kill(server) {
  try {
    process.kill(-server.pid, "SIGTERM");
  } catch {
    // it has ended
  }
}

function freePort() {
  return new Promise((resolve) => {
    const probe = net.createServer().listen(0, "127.0.0.1", () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}
