import assert from "node:assert/strict";
import test from "node:test";
import { hasKernels, isRelevant } from "../../src/relevance";

const relevant = (text: string, expected: boolean, language = "python"): void =>
  assert.equal(isRelevant(language, text), expected, text);

test("a server is started for files that mention triton, torch or a workload", () => {
  relevant("import triton.language as tl\n", true);
  relevant("from torch import nn\n", true);
  relevant("# workload: softmax(randn(8, 8))\n", true);
  relevant("import numpy as np\nprint('torches')\n", false);
  relevant("", false);
  relevant("__global__ void f() {}\n", true, "cuda-cpp");
  relevant("import torch\n", false, "markdown");
});

test("the text of a large file is decided on quickly", () => {
  const large = "x = 1  # nothing to see\n".repeat(40_000);
  relevant(large, false);
  relevant(`${large}import triton\n`, true);
});

test("the list of kernels is made of files with kernels written by hand, or with a workload", () => {
  const has = (text: string, expected: boolean): void => assert.equal(hasKernels(text), expected, text);
  has("import triton\n\n@triton.jit\ndef f(): ...\n", true);
  has("from triton import jit\n\n@jit\ndef f(): ...\n", true);
  has("import numba\n\n@numba.jit\ndef f(): ...\n", false);
  has("__global__ void f() {}\n", true);
  has("// workload: f(n=1)\n", true);
  has("import torch\nclass M(torch.nn.Module): ...\n", false);
});
