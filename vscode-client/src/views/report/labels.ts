/** The labels of the points under a roof: in one column on their right, apart from one another, with a line to each. */
import { line } from "d3-shape";
import { BOTTOM, GAP, here, MOST_LABELS, TOP, type Scales } from "./frame";
import type { Point } from "./points";
import { attainable, type Placed, type Roofline } from "./roofline";
import { spread } from "./spread";
import { mark, segment, words, type Place } from "./svg";
import { si } from "./text";

const AWAY = 40; // from the points to the column
const BAND = 26; // above the peak's line, for its own words

interface Label {
  readonly text: string;
  readonly at: Place;
  /** None for the roof itself. */
  readonly point?: Point;
}

export function labels(found: Roofline, { x, y }: Scales): string[] {
  const { roof, placed } = found;
  const now = here(found);
  if (now === undefined) return [];
  const column = Math.max(...placed.map(({ intensity }) => x(intensity))) + AWAY;
  const most = attainable(roof, now.intensity);
  const label = (one: Placed): Label => {
    return {
      text: `${short(one.point)}: ${si(one.rate, "FLOP/s")}`,
      at: [x(one.intensity), y(one.rate)],
      point: one.point,
    };
  };
  const shown = telling(placed);
  const own = { text: `Roof: ${si(most, "FLOP/s")}`, at: [x(now.intensity), y(most)] } as const;
  const under = shown.filter(({ share }) => share <= 1).map(label);
  const above = shown.filter(({ share }) => share > 1).map(label);
  const named = most < roof.peak_flops ? [own] : []; // the peak has its words on its line
  return [
    ...stacked(above, column, TOP + GAP / 2, y(roof.peak_flops) - BAND),
    ...stacked([...named, ...under], column, y(most) + GAP, BOTTOM - 2 * GAP),
  ];
}

/** As many as there is room for: the text of now, the baseline, then the fastest. */
function telling(placed: readonly Placed[]): readonly Placed[] {
  const rank = ({ point, rate }: Placed): number =>
    point.current ? Infinity : point.number === 0 ? Number.MAX_VALUE : rate;
  return [...placed].sort((one, other) => (rank(other) > rank(one) ? 1 : -1)).slice(0, MOST_LABELS);
}

function stacked(found: readonly Label[], column: number, low: number, high: number): string[] {
  const sorted = [...found].sort((one, other) => one.at[1] - other.at[1]);
  const levels = spread(
    sorted.map(({ at }) => at[1]),
    GAP,
    low,
    high,
  );
  return sorted.map(({ text, at, point }, index) => {
    const level = levels[index] ?? at[1];
    const leader = line()([[...at], [column - 14, level], [column - 8, level]]) ?? "";
    const sign = point
      ? mark(point.kind, [column, level], "")
      : segment("limit", [column - 5, level], [column + 5, level]);
    const said = words(text, [column + 10, level + 4], { kind: point?.current ? "strong" : "" });
    return `<path class="leader" d="${leader}" />${sign}${said}`;
  });
}

function short({ number, current }: Point): string {
  return `${number === 0 ? "Baseline" : number}${current ? ", now" : ""}`;
}
