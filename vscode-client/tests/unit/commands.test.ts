import assert from "node:assert/strict";
import test from "node:test";
import { modelChoices } from "../../src/commands/modelChoices";
import { offered } from "../../src/commands/offers";
import { given, KERNEL_COMMANDS, titled } from "../../src/commands/table";
import { doctorPage } from "../../src/views/doctorPage";
import { profilePage } from "../../src/views/profilePage";

const KIND = "refactor.rewrite.optimizeKernel";

test("a command's argument is taken from a lens, a key binding or nothing", () => {
  assert.deepEqual(given({ uri: "file:///a", kernel: "f", extra: 1, line: "3" }), { uri: "file:///a", kernel: "f" });
  assert.deepEqual(given("file:///a"), { uri: "file:///a" });
  assert.deepEqual(given(undefined), {});
  assert.deepEqual(given(null), {});
});

test("a job is called by its kernel", () => {
  const [optimize] = KERNEL_COMMANDS;
  assert.ok(optimize);
  assert.equal(titled(optimize, { uri: "", kernel: "softmax" }), "Optimize softmax");
  assert.equal(titled(optimize, { uri: "", line: 3 }), "Optimize kernel");
});

test("the server's menu becomes a list of strategies, with reasons", () => {
  const command = { arguments: [{ uri: "u", kernel: "f", strategy: "triton.autotune" }] };
  const offers = offered([
    { title: "Optimize kernel: next step", kind: KIND, command },
    { title: "Optimize kernel: Autotune", kind: `${KIND}.triton.autotune`, isPreferred: true, command },
    { title: "Optimize kernel: Fuse", kind: `${KIND}.torch.fuse`, disabled: { reason: "No pointwise op." } },
    { title: "Write a workload line", kind: "quickfix" },
  ]);
  assert.deepEqual(
    offers.map(({ strategy, title, best, reason, argument }) => [strategy, title, best, reason, argument?.kernel]),
    [
      ["triton.autotune", "Autotune", true, "", "f"],
      ["torch.fuse", "Fuse", false, "No pointwise op.", undefined],
    ],
  );
});

test("the doctor's page tells what was looked at, also without a server", () => {
  const page = doctorPage({
    state: { is: "missing" },
    looks: [{ source: "interpreter", where: "/usr/bin/python3", found: false, detail: "no a|b\nhere" }],
    started: "",
    interpreter: "/usr/bin/python3",
    trusted: true,
    lines: undefined,
    versions: { Extension: "0.1.0" },
  });
  assert.match(page, /The server is not installed\./);
  assert.match(page, /\| ✗ \| Selected interpreter \| `\/usr\/bin\/python3` \| no a\\\|b here \|/);
  assert.match(page, /could not be asked/);
  const lines = [{ name: "GPU", found: false, detail: "", remedy: "Kernels are verified on the CPU." }];
  const asked = {
    looks: [],
    started: "python -m kernelwright.lsp",
    interpreter: undefined,
    trusted: false,
    versions: {},
  };
  const full = doctorPage({ ...asked, state: { is: "running", version: "0.1.0" }, lines });
  assert.match(full, /\| ✗ \| GPU \| missing \| Kernels are verified on the CPU\. \|/);
  assert.match(full, /not trusted/);
});

test("a profile without times has no columns for them", () => {
  const kernel = { name: "softmax_kernel", origin: "hand-written", launches: 1, time_us: 42, share: 0.97 };
  const profile = { $: "ProfileResult", device: "NVIDIA H200", sentence: "Share 97 %", unmeasured: "" } as const;
  assert.match(
    profilePage("f", { ...profile, kernels: [kernel] }),
    /\| `softmax_kernel` \| hand-written \| 1 \| 0\.042 \| 97\.0 % \|/,
  );
  const bare = profilePage("f", {
    ...profile,
    kernels: [{ ...kernel, time_us: null, share: null }],
    unmeasured: "no GPU",
  });
  assert.doesNotMatch(bare, /Time \(ms\)|Share \|/);
  assert.match(bare, /no GPU/);
});

test("the models are VS Code's own and the other ways, and the one in use has a mark", () => {
  const known = [
    { id: "gpt", name: "GPT", vendor: "copilot" },
    { id: "plain", name: "", vendor: "someone" },
  ];
  const check = (current: string, models: typeof known, expected: string[]): void =>
    assert.deepEqual(
      modelChoices(models, current).map(({ label, value }) => `${label}=${value}`),
      expected,
    );
  const others = [
    "None=",
    "A hosted model or a local server…=litellm:",
    "Answers written by hand…=dir:",
    "Recorded answers…=replay:",
  ];
  const own = ["GPT=editor:gpt", "plain=editor:plain", "VS Code's first model=editor"];
  check("editor:plain", known, ["GPT=editor:gpt", "$(check) plain=editor:plain", own[2] ?? "", ...others]);
  check("", [], ["$(check) None=", ...others.slice(1)]);
  check("litellm:x/y", [], ["None=", "$(check) A hosted model or a local server…=litellm:", ...others.slice(2)]);
  check("unknown", known, [...own, ...others]);
});
