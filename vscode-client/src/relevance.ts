/** Whether a file is worth a server: decided from its text alone, in well under a millisecond for a usual file. */

const JITTED = /^\s*@(?:triton\.)?jit\b/m;
const TRITON = /\btriton\b/;
const WRITTEN = /(?:#|\/\/)\s*workload:|\b__global__\b/;

const MENTIONS = /\b(?:triton|torch)\b|#\s*workload:/;

/** `text` may be a whole file or only what was typed into it. */
export function isRelevant(languageId: string, text: string): boolean {
  if (languageId === "cuda-cpp") return true;
  return languageId === "python" && MENTIONS.test(text);
}

/** Whether a file has kernels written by hand, or says how its modules are called: what a list of kernels is made of. */
export function hasKernels(text: string): boolean {
  return WRITTEN.test(text) || (JITTED.test(text) && TRITON.test(text));
}
