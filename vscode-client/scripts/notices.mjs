// The licences of what the bundle contains, as their texts ask for: read from the packages that esbuild says went in.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

/** @param {{ inputs: Record<string, unknown> }} metafile of a build in `root` */
export function notices(metafile, root) {
  const folders = Object.keys(metafile.inputs).flatMap((file) => folderOf(file) ?? []);
  const found = [...new Set(folders)].sort().map((folder) => notice(path.resolve(root, folder)));
  return ["The extension's files contain these packages.", ...found].join(`\n\n${"-".repeat(80)}\n\n`) + "\n";
}

/** "node_modules/d3-scale" of "node_modules/d3-scale/src/log.js"; none for a file of our own. */
export function folderOf(file) {
  return /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0];
}

function notice(folder) {
  const { name, version, license } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((one) => /^licen[cs]e(\.|$)/i.test(one));
  if (file === undefined) throw new Error(`${name} ${version} has no licence file; it cannot be bundled.`);
  return `${name} ${version} (${license})\n\n${readFileSync(path.join(folder, file), "utf8").trim()}`;
}
