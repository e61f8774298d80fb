import assert from "node:assert/strict";
import test from "node:test";
import type { Step } from "../../src/client/answers";
import type { KernelNode } from "../../src/views/kernels/model";
import { reportPage } from "../../src/views/report/page";
import { escaped } from "../../src/views/report/text";
import { trajectory } from "../../src/views/report/trajectory";
import { measurement, roof, step, verdict } from "./steps";

function page(...steps: Step[]): string {
  const kernel: KernelNode = { is: "kernel", uri: "file:///a.py", name: "softmax", line: 0, missing: "", steps };
  return reportPage(kernel, "a.py", "NONCE");
}

test("the page admits its own style and nothing else", () => {
  const html = page(step());
  assert.match(html, /content="default-src 'none'; style-src 'nonce-NONCE'"/);
  assert.doesNotMatch(html, /<script|style="|https?:|url\(|onload|javascript:/i);
});

test("what comes from files is shown as text", () => {
  const named = { strategy: "<i>", region: { label: "" } };
  const hostile = measurement({ device: "<u>", roof: roof({ dtype: "<s>" }), conditions: { dtype: "<em>" } });
  const html = page(
    step({ sentence: "<img src=x onerror=1>", edits: { summary: "</td><b>" }, action: named, measurement: hostile }),
  );
  assert.doesNotMatch(html, /<img|<\/td><b>|<i>|<u>|<s>|<em>/);
  assert.match(html, /aria-label="Roofline of &lt;u&gt;/);
  assert.equal(escaped(`<a href="x">&'`), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
});

test("words that act are shown as text wherever they stand", () => {
  const hostile =
    "\u001b[2J\u009b1m\r\0\u202eesrever\u2028\ud800\nVerified</script></style></title><script>alert(1)</script>";
  assert.equal(escaped("a\u001b\u202e\u{e0041}\ud800\n\tb"), "a\\x1b\\u202e\\U000e0041\\ud800\n\tb");
  const html = told(hostile);
  assert.doesNotMatch(html, /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u);
  assert.equal(html.match(/\\u202eesrever/g)?.length, told("MARK").match(/MARK/g)?.length);
  assert.deepEqual(tags(html), tags(told("usual")));
});

/** A page with `words` wherever a text, a file or a device can put words of its own. */
function told(words: string): string {
  const check = { name: words, case: words, passed: true, detail: words };
  const taken = { device: words, roof: roof({ dtype: words }), conditions: { [words]: words } };
  const only = step({
    kernel: words,
    action: { strategy: words, region: { label: words } },
    edits: { summary: words },
    reason: words,
    sentence: words,
    verdict: verdict({ how: words, reason: words, checks: [check] }),
    measurement: measurement(taken),
  });
  return reportPage(
    { is: "kernel", uri: "file:///a.py", name: words, line: 0, missing: "", steps: [only] },
    words,
    "NONCE",
  );
}

function tags(html: string): string[] {
  return html.match(/<\/?\w+/g) ?? [];
}

test("trajectory, roofline, steps and checks of a kernel", () => {
  const html = page(step(), step({ id: "s2", measurement: measurement({ speedup: 3, roof: roof() }) }));
  for (const part of [
    "Trajectory",
    "Roofline",
    "2.33x",
    "3.00x",
    "0.18 ms",
    "2.22\u00a0TFLOP/s",
    "46\u00a0%",
    "NVIDIA H200",
    "max |err| 2.4e-7",
  ]) {
    assert.ok(html.includes(part), part);
  }
});

test("checks that were not made stand behind those that were", () => {
  const lacking = verdict({ unchecked: [{ name: "race", why: "looked for in the interpreter only" }] });
  const html = page(step({ verdict: lacking }));
  assert.match(html, /<td class="quiet">not made<\/td><td>race<\/td><td><\/td><td>looked for in the interpreter only/);
  assert.doesNotMatch(page(step()), /not made/);
});

test("no number is drawn without a green gate", () => {
  const wrong = step({ verdict: verdict({ status: "failed" }) });
  assert.doesNotMatch(page(wrong), /2\.33|0\.18 ms|<svg/);
});

test("a kernel without steps says so", () => {
  assert.match(page(), /No step was kept yet\./);
  assert.equal(trajectory([]), "");
});

test("steps without a measurement keep their place on the trajectory", () => {
  const points = [undefined, measurement()].map((measured, at) => ({ number: at + 1, label: "s", measured }));
  const drawn = trajectory(points);
  assert.equal(drawn.match(/class="mark kept"/g)?.length, 1);
  assert.match(drawn, /<text[^>]*>1<\/text>/);
  assert.equal(trajectory([{ number: 1, label: "s", measured: undefined }]), "");
});

test("the speedups are drawn with their intervals, and told to who does not see them", () => {
  const drawn = trajectory([{ number: 2, label: "s", measured: measurement() }]);
  assert.match(drawn, /aria-label="Speedup over the baseline after each kept step: step 2 2\.33x"/);
  assert.match(drawn, />2\.28\u20132\.39</);
  assert.equal(drawn.match(/class="interval"/g)?.length, 3); // the interval and its two ends
});

test("numbers of many steps are left out where they would touch", () => {
  const steps = Array.from({ length: 12 }, (_, at) => {
    return { number: at + 1, label: "s", measured: measurement({ speedup: 1 + at / 10 }) };
  });
  const told = [...trajectory(steps).matchAll(/>(\d\.\d\dx)<\/text>/g)].map(([, text]) => text);
  assert.deepEqual(told, ["2.10x"]);
});
