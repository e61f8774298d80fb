import assert from "node:assert/strict";
import test from "node:test";
import { isDeclined, measured, milliseconds } from "../../src/client/answers";
import { backoff } from "../../src/client/backoff";
import { overridden } from "../../src/client/overrides";
import { sentence } from "../../src/client/state";
import { deviceWords, serverWords } from "../../src/views/statusText";
import { step, verdict } from "./steps";

test("a server that keeps ending is started again later each time, then not at all", () => {
  const crashes = backoff(3, 10_000, 100);
  assert.deepEqual(
    [0, 1, 2, 3].map((now) => crashes.next(now)),
    [100, 200, 400, undefined],
  );
  assert.equal(backoff().next(0), 500);
});

test("ends that lie far back are forgotten", () => {
  const crashes = backoff(1, 1000, 100);
  assert.equal(crashes.next(0), 100);
  assert.equal(crashes.next(5000), 100);
  assert.equal(crashes.next(5001), undefined);
});

test("kernels run in the selected interpreter unless the setting names one", () => {
  const around = { interpreter: "/env/python", server: "/managed/python", trusted: true };
  const check = (section: object, changed: object, expected: string): void =>
    assert.equal(overridden({ ...section }, { ...around, ...changed })["interpreter"], expected);
  check({ interpreter: "" }, {}, "/env/python");
  check({ interpreter: "/mine" }, {}, "/mine");
  check({}, { server: "/env/python" }, "");
  check({ interpreter: "" }, { trusted: false }, "");
});

test("the server always makes lenses, and runs nothing unasked where it is not trusted", () => {
  const section = { codeLens: false, verifyOn: "save", inlayHints: true, minGain: 0.1 };
  const told = (trusted: boolean): object =>
    overridden(section, { interpreter: undefined, server: undefined, trusted });
  assert.deepEqual(told(true), { ...section, interpreter: "", codeLens: true });
  assert.deepEqual(told(false), {
    ...section,
    interpreter: "",
    codeLens: true,
    verifyOn: "manual",
    inlayHints: false,
    model: "",
  });
});

test("a number is said only beside a passing verdict of the same text", () => {
  assert.ok(measured(step()));
  assert.equal(measured(step({ verdict: null })), undefined);
  assert.equal(measured(step({ verdict: verdict({ status: "failed" }) })), undefined);
  assert.equal(measured(step({ verdict: verdict({ text_hash: "other" }) })), undefined);
  assert.equal(measured(step({ verdict: verdict({ baseline_hash: "other" }) })), undefined);
  assert.equal(measured(step({ measurement: null })), undefined);
  assert.equal(measured(step({ verdict: verdict({ effort: "quick" }) })), undefined);
  assert.equal(measured(step({ measured: false })), undefined);
  assert.ok(measured(step({ measured: true })));
});

test("what the server declines is told from what it answers", () => {
  assert.ok(isDeclined({ $: "Refusal", reason: "" }));
  assert.ok(isDeclined({ $: "Failure", kind: "crashed", message: "" }));
  for (const answer of [step(), true, null, undefined, []]) assert.ok(!isDeclined(answer));
});

test("times have three significant digits", () => {
  assert.deepEqual([0.42, 12.345, 0.0087123, 123.4].map(milliseconds), ["0.42", "12.3", "0.00871", "123"]);
});

test("the status says the job that runs, or the state of the server", () => {
  const running = { is: "running", version: "0.1.0" } as const;
  const jobs = [{ title: "Optimize f", stage: "Racing 3 variants" }];
  const check = (words: { detail: string; severity: string; busy: boolean }, expected: unknown[]): void =>
    assert.deepEqual([words.detail, words.severity, words.busy], expected);
  check(serverWords(running, []), ["Running, version 0.1.0", "information", false]);
  check(serverWords(running, jobs), ["Optimize f: Racing 3 variants", "information", true]);
  check(serverWords(running, [...jobs, ...jobs]), ["Optimize f: Racing 3 variants and 1 more", "information", true]);
  check(serverWords({ is: "failed", reason: "It did not start." }, []), ["It did not start.", "error", false]);
  check(serverWords({ is: "missing" }, []), ["The server is not installed", "warning", false]);
  assert.match(sentence({ is: "restarting", seconds: 2 }), /again in 2 s/);
});

test("the device is what the doctor found", () => {
  assert.equal(deviceWords({ found: true, detail: "NVIDIA H200" }).text, "NVIDIA H200");
  assert.match(deviceWords({ found: false, detail: "" }).text, /^No GPU/);
  assert.match(deviceWords(undefined).text, /not asked yet/);
});
