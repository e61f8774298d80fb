// The settings schema that editors read is generated from the server's settings; here it is held against JSON Schema.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import test from "node:test";
import Ajv from "ajv";

const schema = JSON.parse(readFileSync(new URL("../../settings.schema.json", import.meta.url), "utf8"));
const defaults = Object.fromEntries(Object.entries(schema.properties).map(([name, entry]) => [name, entry.default]));
const validate = new Ajv({ strict: false }).compile(schema);

test("the defaults are valid", () => {
  assert.equal(validate(defaults), true, JSON.stringify(validate.errors));
});

test("every setting says in words what it does", () => {
  for (const [name, entry] of Object.entries(schema.properties)) {
    assert.match(name, /^kernelwright\.[a-z]+([A-Z][a-z]+)*$/);
    assert.ok(entry.markdownDescription.length > 20, `${name} needs a description`);
  }
});

test("values of the wrong type or range are refused", () => {
  for (const wrong of [
    { "kernelwright.minGain": -1 },
    { "kernelwright.codeLens": "yes" },
    { "kernelwright.verifyOn": "now" },
  ]) {
    assert.equal(validate({ ...defaults, ...wrong }), false, JSON.stringify(wrong));
  }
});
