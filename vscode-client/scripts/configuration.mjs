// The server's settings and its tools for agents, as package.json contributes them: settings.schema.json and
// tools.schema.json, which are generated from the server's code, with what only an editor has to know.
// `node scripts/configuration.mjs` writes package.json, `--check` compares.
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

/**
 * Agents are offered each tool once: these stand back where VS Code takes the server of `mcpServerDefinitionProviders`.
 * One key, which the extension sets: with `||` in it VS Code 1.100 tells no extension of the tools.
 */
const NO_SERVER = "!kernelwright.isServerForAgents";

/** @param {{ name: string, title: string, description: string, runs: boolean, writes: boolean, inputSchema: object }[]} tools */
export function contributedTools(tools) {
  return tools.map(({ name, title, description, runs, writes, inputSchema }) => ({
    name: `kernelwright_${name}`,
    toolReferenceName: `kernelwright_${name}`,
    displayName: title,
    userDescription: description.split("\n\n")[0],
    modelDescription: description,
    tags: [...(runs ? ["runs-code"] : []), ...(writes ? ["writes-files"] : [])],
    canBeReferencedInPrompt: true,
    when: NO_SERVER,
    inputSchema,
  }));
}

export function read(name) {
  return JSON.parse(readFileSync(new URL(name, root), "utf8"));
}

read.text = (name) => readFileSync(new URL(name, root), "utf8");

/** package.json as it should be. */
export function merged(manifest, schema, tools) {
  const [, ...own] = manifest.contributes.configuration;
  const generated = { languageModelTools: contributedTools(tools), configuration: [contributed(schema), ...own] };
  return { ...manifest, contributes: { ...manifest.contributes, ...generated } };
}

async function main() {
  const { default: prettier } = await import("prettier");
  const file = fileURLToPath(new URL("package.json", root));
  const options = { ...(await prettier.resolveConfig(file)), filepath: file };
  const current = readFileSync(file, "utf8");
  const wanted = await prettier.format(
    JSON.stringify(merged(read("package.json"), read("settings.schema.json"), read("tools.schema.json"))),
    options,
  );
  if (wanted === current) return;
  if (process.argv.includes("--check")) {
    console.error("package.json differs from the server's settings or tools; run `npm run generate -w vscode-client`.");
    process.exitCode = 1;
    return;
  }
  writeFileSync(file, wanted);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
