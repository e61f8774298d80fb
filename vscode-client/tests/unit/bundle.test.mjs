// The bundle: what every Python file pays for is small, and the rest is found beside it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import test from "node:test";
import { build } from "esbuild";
import { extension } from "../../scripts/bundle.mjs";
import { folderOf, notices } from "../../scripts/notices.mjs";

const { outputFiles, metafile } = await build({ ...extension, minify: true, sourcemap: false, write: false });
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

test("every package in the bundle is named with its licence", () => {
  const said = notices(metafile, extension.absWorkingDir);
  const packages = new Set(Object.keys(metafile.inputs).flatMap((file) => folderOf(file) ?? []));
  assert.ok(packages.size >= 8, [...packages].join(", "));
  for (const name of [...packages].map((folder) => folder.split("node_modules/").pop())) {
    assert.match(said, new RegExp(`^${name} \\d+\\.\\d+\\.\\d+ \\((MIT|ISC|BSD-3-Clause|BlueOak-1.0.0)\\)$`, "m"));
  }
  assert.equal(
    said.match(/Permission (is hereby granted|to use)|Redistribution and use|Blue Oak/g)?.length >= packages.size,
    true,
  );
});

test("the grammars of the manifest are copies of those at the top level", () => {
  const read = (file) => JSON.parse(readFileSync(new URL(file, import.meta.url), "utf8"));
  const { grammars } = read("../../package.json").contributes;
  assert.ok(grammars.length > 0);
  for (const { path, scopeName } of grammars) {
    assert.match(path, /^dist\/grammars\//);
    assert.equal(read(`../../../${path.replace("dist/", "")}`).scopeName, scopeName);
  }
});

test("a package is found by the path of its file", () => {
  assert.equal(folderOf("../node_modules/d3-scale/src/log.js"), "../node_modules/d3-scale");
  assert.equal(folderOf("../node_modules/a/node_modules/@b/c/index.js"), "../node_modules/a/node_modules/@b/c");
  assert.equal(folderOf("src/full.ts"), undefined);
});
