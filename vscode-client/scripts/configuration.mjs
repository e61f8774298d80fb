// The server's settings, as package.json contributes them: settings.schema.json, which is generated from the server's
// code, with what only an editor has to know. `node scripts/configuration.mjs` writes package.json, `--check` compares.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = new URL("../", import.meta.url);

/** Paths belong to a machine: they are not synchronised, and a workspace may still have its own. */
const SCOPES = { "kernelwright.interpreter": "machine-overridable" };

/** Where code is sent, what with, and what that may cost, is for the person to say: no workspace can. */
const scopeOf = (name) => SCOPES[name] ?? (/^kernelwright\.model([A-Z]|$)/.test(name) ? "machine" : "window");

/** @param {{ properties: Record<string, object> }} schema */
export function contributed(schema) {
  const entries = Object.entries(schema.properties);
  const properties = entries.map(([name, entry], order) => [name, { ...entry, scope: scopeOf(name), order }]);
  return { title: "Kernelwright", properties: Object.fromEntries(properties) };
}

export function read(name) {
  return JSON.parse(readFileSync(new URL(name, root), "utf8"));
}

read.text = (name) => readFileSync(new URL(name, root), "utf8");

/** package.json as it should be. */
export function merged(manifest, schema) {
  const [, ...own] = manifest.contributes.configuration;
  return {
    ...manifest,
    contributes: { ...manifest.contributes, configuration: [contributed(schema), ...own] },
  };
}

async function main() {
  const { default: prettier } = await import("prettier");
  const file = fileURLToPath(new URL("package.json", root));
  const options = { ...(await prettier.resolveConfig(file)), filepath: file };
  const current = readFileSync(file, "utf8");
  const wanted = await prettier.format(
    JSON.stringify(merged(read("package.json"), read("settings.schema.json"))),
    options,
  );
  if (wanted === current) return;
  if (process.argv.includes("--check")) {
    console.error("package.json differs from the server's settings; run `npm run generate -w vscode-client`.");
    process.exitCode = 1;
    return;
  }
  writeFileSync(file, wanted);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
