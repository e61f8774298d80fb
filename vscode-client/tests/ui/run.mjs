// `npm run test:ui`: the packaged extension in a real editor, as a person uses it. One window at a time; minutes, not seconds.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { prepare } from "./editor.mjs";

prepare();
const here = fileURLToPath(new URL(".", import.meta.url));
const wanted = process.argv.slice(2);
const suites = readdirSync(here).filter((name) => name.endsWith(".ui.mjs"));
const chosen = suites.filter((name) => wanted.length === 0 || wanted.some((part) => name.includes(part)));
const files = chosen.map((name) => `${here}${name}`);
const { status } = spawnSync(process.execPath, ["--test", "--test-concurrency=1", ...files], { stdio: "inherit" });
process.exitCode = status ?? 1;
