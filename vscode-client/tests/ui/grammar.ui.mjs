// CUDA inside Python strings, tokenised with the editor's own engine and its own grammars for Python and CUDA.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { test } from "node:test";
import { code } from "./prepare.mjs";

const require = createRequire(path.join(code, "package.json"));
const { loadWASM, OnigScanner, OnigString } = require("vscode-oniguruma");
const { INITIAL, Registry, parseRawGrammar } = require("vscode-textmate");

const injection = new URL("../../../grammars/cuda-in-python.json", import.meta.url).pathname;
const FILES = {
  "source.python": path.join(code, "extensions/python/syntaxes/MagicPython.tmLanguage.json"),
  "source.cuda-cpp": path.join(code, "extensions/cpp/syntaxes/cuda-cpp.tmLanguage.json"),
  "kernelwright.cuda-in-python": injection,
};

async function grammar() {
  await loadWASM(readFileSync(require.resolve("vscode-oniguruma/release/onig.wasm")));
  const registry = new Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (patterns) => new OnigScanner(patterns),
      createOnigString: (text) => new OnigString(text),
    }),
    loadGrammar: async (scope) =>
      FILES[scope] ? parseRawGrammar(readFileSync(FILES[scope], "utf8"), FILES[scope]) : null,
    getInjections: (scope) => (scope === "source.python" ? ["kernelwright.cuda-in-python"] : undefined),
  });
  return registry.loadGrammar("source.python");
}

const python = await grammar();

/** The scopes of the first place where `word` stands in `text`. */
function scopes(text, word) {
  let stack = INITIAL;
  for (const line of text.split("\n")) {
    const { tokens, ruleStack } = python.tokenizeLine(line, stack);
    stack = ruleStack;
    const at = line.indexOf(word);
    if (at >= 0) return tokens.find(({ startIndex, endIndex }) => startIndex <= at && at < endIndex).scopes.join(" ");
  }
  throw new Error(`${word} is not in the text`);
}

const KERNEL = "__global__ void f(float *x) {\n  int i = threadIdx.x;\n}\n";

function check(text, cuda) {
  assert.equal(/meta\.embedded\.block\.cuda-cpp/.test(scopes(text, "__global__")), cuda, text);
  if (!cuda) return;
  assert.match(scopes(text, "int"), /storage\.type.*cuda-cpp/, text);
  const after = scopes(text, "after");
  assert.doesNotMatch(after, /cuda-cpp/, text);
  assert.doesNotMatch(scopes(text, "tail"), /cuda-cpp/, text);
}

const tail = "\nafter = 1\nprint(tail)\n";

test("CUDA is highlighted where a string is given to what compiles it", () => {
  check(`cuda_source = r"""\n${KERNEL}"""${tail}`, true);
  check(`kernel_code = '''\n${KERNEL}'''${tail}`, true);
  check(`m = load_inline("m", cuda_sources=["""\n${KERNEL}"""])${tail}`, true);
  check(`k = cp.RawKernel(r'''\n${KERNEL}''', "f")${tail}`, true);
  check(`k = cp.RawModule(code=r"""\n${KERNEL}""")${tail}`, true);
  check(`k = SourceModule("""\n${KERNEL}""")${tail}`, true);
});

test("an unbalanced brace does not reach beyond the string", () => {
  check(`cuda_source = """\n__global__ void f() { if (1) {\n  int i;\n"""${tail}`, true);
});

test("other strings stay strings", () => {
  check(`text = """\n${KERNEL}"""${tail}`, false);
  check(`cuda_source = "__global__"${tail}`, false);
  check(`# cuda_source = """ __global__ """${tail}`, false);
  assert.match(scopes('cuda_source = "x"\nafter = "plain"\n', "plain"), /string\.quoted/);
});
