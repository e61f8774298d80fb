// The bundle: what every Python file pays for is small, and the rest is found beside it.
import assert from "node:assert/strict";
import { isBuiltin } from "node:module";
import test from "node:test";
import { build } from "esbuild";
import { extension } from "../../scripts/bundle.mjs";

const { outputFiles } = await build({ ...extension, minify: true, sourcemap: false, write: false });
const texts = Object.fromEntries(outputFiles.map(({ path, text }) => [path.split(/[\\/]/).pop(), text]));

test("the entry is small and requires the rest only when it is asked to", () => {
  assert.deepEqual(Object.keys(texts).sort(), ["extension.js", "full.js"]);
  assert.ok(texts["extension.js"].length < 10_000, `${texts["extension.js"].length} characters`);
  assert.match(texts["extension.js"], /require\("\.\/full"\)/);
  assert.doesNotMatch(texts["extension.js"], /\bimport\(/);
});

test("nothing but the editor and Node is left to be found", () => {
  const all = Object.values(texts).flatMap((text) =>
    [...text.matchAll(/\brequire\("([^"]+)"\)/g)].map(([, name]) => name),
  );
  assert.deepEqual([...new Set(all)].filter((name) => !isBuiltin(name)).sort(), ["./full", "vscode"]);
});
