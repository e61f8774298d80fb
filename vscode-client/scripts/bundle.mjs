// Bundles the extension into dist/, and with --tests the unit tests into dist/tests/. `vscode` comes from the editor.
import { readdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { build, context } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const shared = { absWorkingDir: root, bundle: true, platform: "node", target: "node20", logLevel: "warning" };

const extension = {
  ...shared,
  entryPoints: ["src/extension.ts"],
  outfile: "dist/extension.js",
  format: "cjs",
  external: ["vscode"],
  minify: process.argv.includes("--minify"),
  sourcemap: process.argv.includes("--minify") ? false : "linked",
};

// What a unit test reaches may not need the editor, so `vscode` is not external here: importing it fails the build.
const tests = () => ({
  ...shared,
  entryPoints: readdirSync(`${root}/tests/unit`)
    .filter((name) => name.endsWith(".test.ts"))
    .map((name) => `tests/unit/${name}`),
  outdir: "dist/tests",
  format: "esm",
  outExtension: { ".js": ".mjs" },
  sourcemap: "inline",
});

if (process.argv.includes("--tests")) {
  rmSync(`${root}/dist/tests`, { recursive: true, force: true });
  await build(tests());
} else if (process.argv.includes("--watch")) {
  await (await context(extension)).watch();
} else {
  await build(extension);
}
