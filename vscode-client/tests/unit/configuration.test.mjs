// package.json contributes exactly the settings and tools that the server has, and what it contributes fits together.
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import test from "node:test";
import { merged, read } from "../../scripts/configuration.mjs";

const manifest = read("package.json");
const { commands, menus, configuration, views, walkthroughs, grammars } = manifest.contributes;
const ids = commands.map(({ command }) => command);

test("settings and tools are those that the server's code generates", () => {
  const wanted = merged(manifest, read("settings.schema.json"), read("tools.schema.json"));
  assert.deepEqual(manifest, wanted, "run `npm run generate -w vscode-client`");
});

test("no setting is contributed twice", () => {
  const names = configuration.flatMap(({ properties }) => Object.keys(properties));
  assert.deepEqual([...new Set(names)], names);
});

test("every command has a category and a title of its own", () => {
  const titles = commands.map(({ title }) => title);
  assert.deepEqual([...new Set(titles)], titles);
  for (const { command, category } of commands) assert.equal(category, "Kernelwright", command);
});

test("the server for agents is contributed by the id that the code registers", () => {
  const [{ id }] = manifest.contributes.mcpServerDefinitionProviders;
  assert.ok(read.text("src/agents/provider.ts").includes(`PROVIDER = "${id}"`));
});

test("menus, walkthroughs and the views' welcome name commands that exist", () => {
  const inMenus = Object.values(menus).flatMap((entries) => entries.map(({ command }) => command));
  const texts = [...walkthroughs.flatMap(({ steps }) => steps.map((step) => step.description))];
  texts.push(...manifest.contributes.viewsWelcome.map(({ contents }) => contents));
  const linked = texts.flatMap((text) => [...text.matchAll(/command:(kernelwright\.\w+)/g)].map(([, id]) => id));
  assert.ok(linked.length > 3);
  for (const id of [...inMenus, ...linked]) assert.ok(ids.includes(id), id);
});

test("what needs a node of the kernels view is not in the command palette", () => {
  const alsoAtCursor = ["kernelwright.showReport", "kernelwright.record"];
  const onNodes = menus["view/item/context"].map(({ command }) => command).filter((id) => !alsoAtCursor.includes(id));
  const hidden = menus.commandPalette.filter(({ when }) => when === "false").map(({ command }) => command);
  for (const id of onNodes) assert.ok(hidden.includes(id), id);
});

test("every command that the server's page documents can be called", () => {
  const page = read.text("../docs/protocol.md");
  const documented = [...page.matchAll(/^\| `(kernelwright\.\w+)` \|/gm)].map(([, id]) => id);
  const forTheExtension = ["kernelwright.callers", "kernelwright.tool"]; // "Record Workloads From…" and agents ask for them
  assert.ok(documented.length >= 10);
  for (const id of documented.filter((one) => !forTheExtension.includes(one))) assert.ok(ids.includes(id), id);
});

test("every command that is contributed is carried out", () => {
  const sources = ["register", "steps", "table"].map((name) => read.text(`src/commands/${name}.ts`)).join("\n");
  for (const id of ids) assert.ok(sources.includes(`"${id}"`), id);
});

test("files that the manifest names are there", () => {
  const steps = walkthroughs.flatMap((one) => one.steps.map((step) => step.media.svg));
  const icons = manifest.contributes.viewsContainers.activitybar.map(({ icon }) => icon);
  for (const name of [manifest.icon, ...icons, ...steps, ...grammars.map(({ path }) => path)]) {
    assert.ok(existsSync(new URL(`../../${name}`, import.meta.url)), name);
  }
  assert.ok(Object.values(views).flat().length > 0);
});

test("the walkthrough's pictures have words and take their colours from the theme", () => {
  const steps = walkthroughs.flatMap((one) => one.steps);
  assert.equal(steps.length, 5);
  for (const { id, media } of steps) {
    const picture = readFileSync(new URL(`../../${media.svg}`, import.meta.url), "utf8");
    assert.ok(media.altText.length > 20, id);
    const colours = [...picture.matchAll(/(?:fill|stroke)="([^"]+)"/g)].map(([, colour]) => colour);
    assert.deepEqual(
      colours.filter((colour) => colour !== "none" && !colour.startsWith("var(--vscode-")),
      [],
      id,
    );
  }
});

test("a workspace that is not trusted cannot choose what is run", () => {
  const { restrictedConfigurations } = manifest.capabilities.untrustedWorkspaces;
  for (const name of ["server.path", "interpreter", "verifyOn", "inlayHints"]) {
    assert.ok(restrictedConfigurations.includes(`kernelwright.${name}`), name);
  }
});
