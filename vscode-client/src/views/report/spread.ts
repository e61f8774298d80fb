/** Labels that would lie on one another are moved apart, each as little as the others allow. */

/**
 * Positions for labels at least `gap` apart, in the order of `wanted`, which ascends. Those that are too close share the
 * mean of what they want. They stay between `low` and `high`, as far as there is room for all.
 */
export function spread(wanted: readonly number[], gap: number, low: number, high: number): readonly number[] {
  const last = Math.max(low, high - gap * (wanted.length - 1));
  const clusters: { sum: number; count: number }[] = [];
  // A label `at` places behind the first of all wants its cluster to begin so much higher.
  for (const [at, place] of wanted.entries()) {
    let cluster = { sum: place - at * gap, count: 1 };
    for (let before = clusters.at(-1); before && mean(before) >= mean(cluster); before = clusters.at(-1)) {
      clusters.pop();
      cluster = { sum: before.sum + cluster.sum, count: before.count + cluster.count };
    }
    clusters.push(cluster);
  }
  const starts = clusters.flatMap((cluster) => Array<number>(cluster.count).fill(mean(cluster)));
  return starts.map((start, at) => Math.min(last, Math.max(low, start)) + at * gap);
}

function mean({ sum, count }: { sum: number; count: number }): number {
  return sum / count;
}
