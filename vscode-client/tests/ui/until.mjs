// Waiting for a state, never for a time.

export const PATIENCE_MS = Number(process.env.PATIENCE_MS ?? 120_000); // for a worker that imports torch on a busy machine

/** The first value of `condition` that holds. What a condition throws counts as not yet. */
export async function until(condition, what, patience = PATIENCE_MS) {
  const deadline = Date.now() + patience;
  let last;
  for (;;) {
    try {
      const value = await condition();
      if (value) return value;
    } catch (error) {
      last = error;
    }
    if (Date.now() > deadline) throw new Error(`not within ${patience / 1000} s: ${what}`, { cause: last });
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
