// Makes dist/kernelwright-VERSION.vsix: the bundle, the server's wheel built from this repository, and nothing else.
// PYTHON names the interpreter that builds the wheel; it needs pip, and pip fetches the build's own requirements.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const repository = fileURLToPath(new URL("../..", import.meta.url));
const own = `${repository}.venv/bin/python`;
const python = process.env.PYTHON ?? (existsSync(own) ? own : "python3");
const { version } = JSON.parse(readFileSync(`${root}package.json`, "utf8"));
const vsix = `dist/kernelwright-${version}.vsix`;

function run(command, ...args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: "inherit" });
  if (status === 0) return;
  console.error(`${command} ${args.join(" ")}: ${error ? error.message : `exit status ${status}`}`);
  process.exit(1);
}

/** An extension's page shows pictures from the web only: those of docs/images/ at IMAGES_URL, or none without it. */
function readme() {
  const text = readFileSync(`${root}README.md`, "utf8");
  const address = process.env.IMAGES_URL;
  if (address) return text.replaceAll("](../docs/images/", `](${address}/`);
  return text
    .split("\n\n")
    .filter((paragraph) => !paragraph.includes("](../docs/images/"))
    .join("\n\n");
}

run(process.execPath, "scripts/configuration.mjs", "--check");
rmSync(`${root}dist/server`, { recursive: true, force: true });
mkdirSync(`${root}dist/server`, { recursive: true });
run(
  python,
  "-m",
  "pip",
  "wheel",
  "--quiet",
  "--disable-pip-version-check",
  "--no-deps",
  "-w",
  "dist/server",
  repository,
);
run(process.execPath, "scripts/bundle.mjs", "--minify");
writeFileSync(`${root}dist/README.md`, readme());
if (!existsSync(`${root}packaging/node_modules/.bin/vsce`)) {
  run("npm", "ci", "--prefix", "packaging", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error");
}
run(
  "packaging/node_modules/.bin/vsce",
  "package",
  "--no-dependencies",
  "--allow-missing-repository",
  "--no-rewrite-relative-links",
  "--readme-path",
  "dist/README.md",
  "--out",
  vsix,
);
