// `npm run screenshots`: the suite as it is, with a picture for the pages of the documentation wherever it asks for one.
import { spawnSync } from "node:child_process";
import { mkdirSync, statSync } from "node:fs";
import path from "node:path";
import { repository } from "./prepare.mjs";

const folder = path.join(repository, "docs/images");
const MOST_BYTES = 200_000;

export const taking = process.argv.includes("--screenshots");

/** Settings for the pictures alone: no furniture that has nothing to do with kernels. */
export const LOOKS = taking
  ? {
      "workbench.colorTheme": "Default Dark Modern",
      "workbench.layoutControl.enabled": false,
      "window.commandCenter": false,
      "breadcrumbs.enabled": false,
      "editor.fontSize": 13,
    }
  : {};

/** What is done to a window that has just opened: its files are no part of the pictures. */
export async function furnish(page) {
  if (!taking) return;
  await page.keyboard.press("Control+b");
  await page.locator(".part.sidebar").waitFor({ state: "hidden" });
}

/** Takes a picture of the editors, from their top down to `height`, or with `whole` of the window. */
export function picture(page) {
  return async (name, { height = 600, whole = false } = {}) => {
    if (!taking) return;
    mkdirSync(folder, { recursive: true });
    const file = path.join(folder, `${name}.png`);
    const editors = await page.locator(".part.editor").boundingBox();
    const clip = { ...editors, height: Math.min(height, editors.height) };
    await page.evaluate(() => globalThis.document.fonts.ready);
    await page.screenshot({ path: file, animations: "disabled", caret: "hide", ...(whole ? {} : { clip }) });
    const small = spawnSync("pngquant", ["--force", "--ext", ".png", "256", file]);
    if (small.status !== 0) throw new Error("Pictures are made small by pngquant; install the package `pngquant`.");
    if (statSync(file).size > MOST_BYTES) throw new Error(`${file} is larger than ${MOST_BYTES / 1000} kB`);
  };
}
