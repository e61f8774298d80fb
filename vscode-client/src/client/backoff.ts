/** When a server that ended unasked is started again: later each time, and not at all when it keeps ending. */

export interface Backoff {
  /** Milliseconds to wait before the next start; undefined: give up and ask a person. */
  next(now: number): number | undefined;
}

/** `most` starts within `windowMs`; the waits double from `firstMs`. Ends that lie further back are forgotten. */
export function backoff(most = 5, windowMs = 180_000, firstMs = 500): Backoff {
  let ends: readonly number[] = [];
  return {
    next(now) {
      ends = [...ends.filter((end) => now - end < windowMs), now];
      return ends.length > most ? undefined : firstMs * 2 ** (ends.length - 1);
    },
  };
}
