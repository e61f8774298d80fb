import assert from "node:assert/strict";
import test from "node:test";
import { LensCommands } from "../../src/client/lenses";

function commands(): { lenses: LensCommands; run: (id: string) => unknown; known: () => string[]; done: unknown[] } {
  const registered = new Map<string, () => unknown>();
  const done: unknown[] = [];
  const lenses = new LensCommands(
    (id, run) => {
      if (registered.has(id)) throw new Error(`${id} exists already`);
      registered.set(id, run);
      return { dispose: () => registered.delete(id) };
    },
    (command, ...rest) => done.push([command, ...rest]),
  );
  return {
    lenses,
    run: (id) => registered.get(id)?.(),
    known: () => [...registered.keys()],
    done,
  };
}

const lens = (kernel: string, title = "Optimize kernel") => ({
  command: { title, command: "kernelwright.optimize", arguments: [{ uri: "file:///a.py", kernel }] },
});

test("a lens's command has its arguments built in", () => {
  const { lenses, run, done } = commands();
  const { command } = lenses.direct(lens("softmax"));
  assert.equal(command.title, "Optimize kernel");
  assert.equal(command.arguments, undefined);
  run(command.command);
  assert.deepEqual(done, [["kernelwright.optimize", { uri: "file:///a.py", kernel: "softmax" }]]);
});

test("a lens that is asked for again has the same command, another kernel's another", () => {
  const { lenses, known } = commands();
  const first = lenses.direct(lens("softmax")).command.command;
  assert.equal(lenses.direct(lens("softmax", "Optimize kernel · 1.2 ms")).command.command, first);
  assert.notEqual(lenses.direct(lens("matmul")).command.command, first);
  assert.equal(known().length, 2);
});

test("a lens without a command or without arguments stays as it is", () => {
  const { lenses, known } = commands();
  assert.deepEqual(lenses.direct({}), {});
  const bare = { command: { title: "Doctor", command: "kernelwright.doctor" } };
  assert.deepEqual(lenses.direct({ ...bare }), bare);
  assert.deepEqual(known(), []);
});

test("the commands end with the extension", () => {
  const all = commands();
  all.lenses.direct(lens("softmax"));
  all.lenses.dispose();
  assert.deepEqual(all.known(), []);
});
