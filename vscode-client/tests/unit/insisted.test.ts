import assert from "node:assert/strict";
import { test } from "node:test";
import { insisted } from "../../src/logging/insisted";

test("a wish that has its effect is told once", async () => {
  const told: number[] = [];
  assert.equal(
    await insisted(
      (before) => told.push(before),
      () => told.length > 0,
      0,
    ),
    true,
  );
  assert.deepEqual(told, [0]);
});

test("a wish that is let go is told again, and not for ever", async () => {
  const told: number[] = [];
  assert.equal(
    await insisted(
      (before) => told.push(before),
      () => told.length > 2,
      0,
    ),
    true,
  );
  assert.deepEqual(told, [0, 1, 2]);
  assert.equal(
    await insisted(
      (before) => told.push(before),
      () => false,
      0,
      4,
    ),
    false,
  );
  assert.equal(told.length, 7);
});
