/** Charts as SVG text, coloured by classes that the page's style maps to the editor's theme. */
import { milliseconds, type Measurement } from "../../client/answers";

const WIDTH = 560;

/** A point of the trajectory; without a measurement the step is shown and no number is claimed. */
export interface Point {
  /** The step's number among all of the kernel. */
  readonly number: number;
  readonly label: string;
  readonly measured: Measurement | undefined;
}

/** Speedup over the baseline after each kept step, with its 95 % interval. Empty when nothing was measured. */
export function trajectory(points: readonly Point[]): string {
  const most = Math.max(1, ...points.map(({ measured }) => measured?.speedup_high ?? 0));
  if (points.every(({ measured }) => measured === undefined)) return "";
  const height = 180;
  const left = 44;
  const step = (WIDTH - left - 16) / Math.max(1, points.length);
  const y = (speedup: number): number => round(height - 24 - ((height - 40) * Math.max(0, speedup)) / most);
  const x = (at: number): number => round(left + step * (at + 1) - step / 2);
  const marks = points.map(({ label, measured, number }, at) => {
    const name = `<text x="${x(at)}" y="${height - 6}" text-anchor="middle">${number}</text>`;
    if (measured === undefined) return `<g>${name}<title>${escaped(label)}: not measured</title></g>`;
    const { speedup, speedup_low: low, speedup_high: high } = measured;
    return [
      `<g>${name}<title>${escaped(label)}: ${speedup.toFixed(2)}x</title>`,
      `<line class="interval" x1="${x(at)}" x2="${x(at)}" y1="${y(low)}" y2="${y(high)}" />`,
      `<circle class="point" cx="${x(at)}" cy="${y(speedup)}" r="4" />`,
      `<text x="${x(at)}" y="${round(y(high) - 5)}" text-anchor="middle">${speedup.toFixed(2)}x</text></g>`,
    ].join("");
  });
  const line = points.flatMap(({ measured }, at) => (measured ? [`${x(at)},${y(measured.speedup)}`] : []));
  return svg(height, "Speedup over the baseline after each kept step", [
    `<line class="axis" x1="${left}" x2="${WIDTH}" y1="${y(1)}" y2="${y(1)}" />`,
    `<text x="4" y="${round(y(1) + 4)}">1.00x</text>`,
    `<polyline class="path" points="${line.join(" ")}" />`,
    ...marks,
  ]);
}

/** Times of baseline and kernel beside the least time that the device's roofline allows. */
export function roofline(measured: Measurement): string {
  const rows = [
    { name: "Baseline", ms: measured.baseline.median_ms, kind: "bar before" },
    { name: "Now", ms: measured.candidate.median_ms, kind: "bar" },
    ...(measured.floor_ms === null ? [] : [{ name: "Roofline", ms: measured.floor_ms, kind: "bar roof" }]),
  ];
  const most = Math.max(...rows.map(({ ms }) => ms));
  const bars = rows.map(({ name, ms, kind }, at) => {
    const width = round(Math.max(1, (340 * ms) / most));
    const y = 8 + at * 28;
    return `<text x="4" y="${y + 14}">${name}</text><rect class="${kind}" x="90" y="${y}" width="${width}" height="18" /><text x="${width + 98}" y="${y + 14}">${milliseconds(ms)} ms</text>`;
  });
  return svg(rows.length * 28 + 8, "Time of one call", bars);
}

export function escaped(text: string): string {
  const names: Readonly<Record<string, string>> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
  };
  return text.replace(/[&<>"']/g, (one) => names[one] ?? one);
}

function svg(height: number, title: string, parts: readonly string[]): string {
  return `<svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${title}">${parts.join("")}</svg>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
