// `npm run test:ui`: the packaged extension in a real editor, as a person uses it. One editor and one browser for all
// files, a fresh folder and a fresh profile for each; names of files as arguments choose among them.
import { readdirSync } from "node:fs";
import { after } from "node:test";
import { prepared, unmet } from "./prepare.mjs";
import { start, stop } from "./editor.mjs";

const reason = unmet();
const wanted = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));

if (reason === undefined) {
  await start(await prepared());
  after(stop);
  const names = readdirSync(new URL(".", import.meta.url)).filter((name) => name.endsWith(".ui.mjs"));
  for (const name of names.filter((one) => wanted.length === 0 || wanted.some((part) => one.includes(part)))) {
    await import(`./${name}`);
  }
} else {
  console.log(reason);
  if (process.env.CI) process.exitCode = 1;
}
