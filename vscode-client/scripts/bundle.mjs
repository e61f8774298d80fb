// Bundles the extension into dist/ with the grammars that an editor wants inside it, and with --tests the unit tests into dist/tests/. `vscode` comes from the editor.
import { cpSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build, context } from "esbuild";
import { notices } from "./notices.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const minify = process.argv.includes("--minify");
const shared = { absWorkingDir: root, bundle: true, platform: "node", target: "node20", logLevel: "warning" };

// Two files: the entry, which every Python file pays for, and the rest, which is read with the first kernel.
export const extension = {
  ...shared,
  entryPoints: ["src/extension.ts", "src/full.ts"],
  outdir: "dist",
  format: "cjs",
  external: ["vscode", "./full"],
  supported: { "dynamic-import": false }, // the other file is CommonJS: it is required, not imported
  minify,
  sourcemap: minify ? false : "linked",
  metafile: true,
};

// What a unit test reaches may not need the editor, so `vscode` is not external here: importing it fails the build.
function tests() {
  return {
    ...shared,
    entryPoints: readdirSync(`${root}/tests/unit`)
      .filter((name) => name.endsWith(".test.ts"))
      .map((name) => `tests/unit/${name}`),
    outdir: "dist/tests",
    format: "esm",
    outExtension: { ".js": ".mjs" },
    sourcemap: "inline",
  };
}

function grammars() {
  rmSync(`${root}/dist/grammars`, { recursive: true, force: true });
  cpSync(`${root}/../grammars`, `${root}/dist/grammars`, { recursive: true });
}

async function main() {
  grammars();
  if (process.argv.includes("--watch")) return (await context(extension)).watch();
  if (!process.argv.includes("--tests")) {
    const { metafile } = await build(extension);
    return writeFileSync(`${root}/dist/NOTICES.txt`, notices(metafile, root));
  }
  rmSync(`${root}/dist/tests`, { recursive: true, force: true });
  return build(tests());
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main();
