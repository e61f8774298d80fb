import assert from "node:assert/strict";
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import test from "node:test";
import { expanded, isPython, pythonIn, shortened } from "../../src/environment/candidates";
import { locate, wheelVersion } from "../../src/environment/locate";
import { bundledWheel, makeManaged, managedPython } from "../../src/environment/managed";
import { refusal } from "../../src/environment/probe";

const folder = await mkdtemp(path.join(os.tmpdir(), "kernelwright-client-"));
test.after(() => rm(folder, { recursive: true }));

/** A program that stands where an interpreter would, and says what one would say. */
async function python(name: string, script: string): Promise<string> {
  const file = path.join(folder, name, "python3");
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, `#!/bin/sh\n${script}\n`);
  await chmod(file, 0o755);
  return file;
}

const says = (version: string): string => `echo '{"python": "3.12.1", "kernelwright": "${version}"}'`;
const having = await python("having", says("0.1.0"));
const lacking = await python("lacking", says(""));
const old = await python("old", 'echo "unknown option -P" >&2; exit 2');
const wheel = path.join(folder, "kernelwright-0.3.2-py3-none-any.whl");
await writeFile(wheel, "wheel");

test("paths in settings are expanded", () => {
  const places = { home: "/home/me", folder: "/home/me/project", variables: { ENV: "/env" } };
  const check = (given: string, expected: string): void => assert.equal(expanded(given, places), expected);
  check("~/venv/bin/python", "/home/me/venv/bin/python");
  check("${workspaceFolder}/.venv/bin/python", "/home/me/project/.venv/bin/python");
  check("${env:ENV}/bin/python", "/env/bin/python");
  check("${env:NONE}x", "x");
  check("/usr/bin/python~1", "/usr/bin/python~1");
  assert.equal(expanded("${workspaceFolder}/x", { ...places, folder: undefined }), "${workspaceFolder}/x");
});

test("a path at home is told as a person writes it", () => {
  assert.equal(shortened("/home/me/venv/bin/python", "/home/me"), "~/venv/bin/python");
  assert.equal(shortened("C:\\Users\\me\\python.exe", "C:\\Users\\me"), "~\\python.exe");
  assert.equal(shortened("/home/melissa/bin/python", "/home/me"), "/home/melissa/bin/python");
});

test("a python is told from the executable", () => {
  for (const name of ["python", "/usr/bin/python3.12", "C:\\env\\Scripts\\python.exe"]) assert.ok(isPython(name), name);
  for (const name of ["/usr/bin/kernelwright", "pythonic"]) assert.ok(!isPython(name), name);
  assert.equal(pythonIn("/env", "linux"), "/env/bin/python");
  assert.equal(pythonIn("C:\\env", "win32"), "C:\\env\\Scripts\\python.exe");
});

test("the setting comes first, then the selected interpreter", async () => {
  const set = await locate({ setting: having, interpreter: lacking, trusted: true });
  assert.equal(set.launch?.source, "setting");
  const selected = await locate({ setting: "", interpreter: having, trusted: true });
  assert.deepEqual(selected.launch?.args, ["-P", "-m", "kernelwright.lsp"]);
  assert.equal(selected.launch.version, "0.1.0");
  const executable = await locate({ setting: "/opt/kernelwright", trusted: true });
  assert.deepEqual(executable.launch?.args, ["serve"]);
});

test("a setting that does not hold is not passed over", async () => {
  const found = await locate({ setting: lacking, interpreter: having, trusted: true });
  assert.equal(found.launch, undefined);
  assert.match(found.looks[0]?.detail ?? "", /Python 3\.12\.1, Kernelwright is not installed/);
});

test("every place that was looked at says what was found there", async () => {
  const found = await locate({
    setting: "",
    interpreter: old,
    managed: { folder: `${folder}/none`, wheel },
    trusted: true,
  });
  assert.equal(found.launch, undefined);
  assert.deepEqual(
    found.looks.map(({ source, found: yes }) => [source, yes]),
    [
      ["interpreter", false],
      ["managed", false],
    ],
  );
  assert.match(found.looks[0]?.detail ?? "", /older than Python 3\.11/);
  assert.equal(found.interpreter, old);
});

test("in a workspace that is not trusted its interpreter is not run", async () => {
  const trap = await python("trap", `touch '${folder}/trapped'; ${says("0.1.0")}`);
  const found = await locate({ setting: "", interpreter: trap, trusted: false });
  assert.equal(found.launch, undefined);
  assert.equal(found.interpreter, undefined);
  await assert.rejects(() => import("node:fs/promises").then((fs) => fs.stat(`${folder}/trapped`)));
});

test("the environment is made once for each wheel", async () => {
  const target = { folder: path.join(folder, "managed"), wheel };
  const base = await python(
    "base",
    'mkdir -p "$3/bin"; printf "#!/bin/sh\\nexit 0\\n" > "$3/bin/python"; chmod +x "$3/bin/python"',
  );
  assert.equal(await managedPython(target), undefined);
  const made = await makeManaged(target, base);
  assert.deepEqual(made, { python: path.join(target.folder, "bin", "python") });
  assert.equal(await managedPython(target), path.join(target.folder, "bin", "python"));
  const found = await locate({ setting: "", interpreter: lacking, managed: target, trusted: true });
  assert.equal(found.launch?.source, "managed");
  assert.equal(found.launch.version, "0.3.2");
  await writeFile(wheel, "a newer wheel");
  assert.equal(await managedPython(target), undefined);
});

test("an environment is made where z3 cannot be installed, too", async () => {
  const target = { folder: path.join(folder, "without-z3"), wheel };
  const asked = path.join(folder, "asked");
  const pip = `#!/bin/sh\necho "$*" >> '${asked}'\ncase "$*" in *z3*) exit 1;; esac\n`;
  await writeFile(path.join(folder, "pip"), pip);
  const base = await python(
    "base-z3",
    `mkdir -p "$3/bin"; cp '${folder}/pip' "$3/bin/python"; chmod +x "$3/bin/python"`,
  );
  assert.deepEqual(await makeManaged(target, base), { python: path.join(target.folder, "bin", "python") });
  const [needed, wanted] = (await readFile(asked, "utf8")).trim().split("\n");
  assert.match(needed ?? "", /\[mcp\]$/);
  assert.match(wanted ?? "", /\[z3\]$/);
});

test("an environment that cannot be made says how to mend it", async () => {
  const base = await python("bare", 'echo "ensurepip is not available"; exit 1');
  const made = await makeManaged({ folder: path.join(folder, "failed"), wheel }, base);
  assert.match("reason" in made ? made.reason : "", /python3-venv/);
  const gone = await makeManaged({ folder: path.join(folder, "failed"), wheel }, "/nowhere/python");
  assert.match("reason" in gone ? gone.reason : "", /could not make a virtual environment/);
});

test("a wheel is found where the package carries one", async () => {
  assert.equal(await bundledWheel(folder), undefined);
  await mkdir(path.join(folder, "dist", "server"), { recursive: true });
  await writeFile(path.join(folder, "dist", "server", "kernelwright-0.1.0-py3-none-any.whl"), "");
  assert.match((await bundledWheel(folder)) ?? "", /0\.1\.0/);
  assert.equal(wheelVersion("/x/kernelwright-0.1.0-py3-none-any.whl"), "0.1.0");
});

test("a probe that fails ends in one sentence", () => {
  assert.equal(refusal("/py", "Traceback\nOSError: no disk"), "/py could not be run: OSError: no disk");
  assert.equal(refusal("/py", ""), "/py could not be run.");
});
