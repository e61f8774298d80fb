import assert from "node:assert/strict";
import test from "node:test";
import { results } from "../../src/views/tests/model";
import { step, verdict } from "./steps";

const check = { name: "values", case: "seed 0", passed: true, detail: "max |err| 1e-7" };

test("each check of the newest verdict is a test with its evidence", () => {
  const failed = { name: "dtype", case: "", passed: false, detail: "" };
  const steps = [
    step(),
    step({ outcome: "rejected", verdict: verdict({ status: "failed", checks: [check, failed] }) }),
  ];
  assert.deepEqual(
    results(steps).map(({ label, passed, message }) => [label, passed, message]),
    [
      ["values · seed 0", true, "max |err| 1e-7"],
      ["dtype", false, "dtype failed"],
    ],
  );
});

test("checks of one name are told apart", () => {
  const ids = results([step({ verdict: verdict({ checks: [check, check] }) })]).map(({ id }) => id);
  assert.deepEqual(ids, ["values · seed 0#1", "values · seed 0#2"]);
});

test("a step that was taken back, or has no verdict, publishes nothing", () => {
  assert.deepEqual(results([step({ outcome: "reverted" }), step({ verdict: null })]), []);
});
