/** Where the roofline plot lies on its page, and its two logarithmic scales: wide enough for all points and for their words. */
import { scaleLog, type ScaleLogarithmic } from "d3-scale";
import { attainable, ridge, type Placed, type Roofline } from "./roofline";
import { WIDTH } from "./svg";

export const HEIGHT = 404;
export const LEFT = 88;
export const RIGHT = WIDTH - 8;
export const TOP = 30;
export const BOTTOM = 326;
/** Between the lines of two labels. */
export const GAP = 16;
/** What there is room for; more is in the table and in the marks' own titles. */
export const MOST_LABELS = 8;

/** Shares of the width that words need: beside the leftmost guide, beside the ridge, and beside the points. */
const ROOM = { left: 0.28, ridge: 0.28, labels: 0.43 };
const LEAST_DECADES = 3;
const MOST_TICKS = 8;

export type Scale = ScaleLogarithmic<number, number>;

export interface Scales {
  readonly x: Scale;
  readonly y: Scale;
}

export function scalesOf(found: Roofline): Scales {
  const x = across(found);
  return { x, y: scaleLog([lowest(found, x), highest(found)], [BOTTOM, TOP]) };
}

/** Powers of ten, as many as there is room for. */
export function powers(scale: Scale): readonly number[] {
  const found = scale.ticks().filter((value) => Math.abs(Math.log10(value) - Math.round(Math.log10(value))) < 1e-9);
  const every = Math.ceil(found.length / MOST_TICKS);
  return found.filter((_, at) => at % every === 0);
}

/** The point that is the text of now; the baseline where that was not measured. */
export function here({ placed }: Roofline): Placed | undefined {
  return placed.find(({ point }) => point.current) ?? placed[0];
}

function across({ roof, placed }: Roofline): Scale {
  const intensities = placed.map(({ intensity }) => Math.log10(intensity));
  const [corner, right] = [Math.log10(ridge(roof)), Math.max(...intensities)];
  const left = Math.min(corner, ...intensities);
  const decades = Math.max(
    LEAST_DECADES,
    (right - left) / (1 - ROOM.left - ROOM.labels),
    (corner - left) / (1 - ROOM.left - ROOM.ridge),
  );
  const begin = left - ROOM.left * decades;
  return scaleLog([10 ** begin, 10 ** (begin + decades)], [LEFT, RIGHT]);
}

function highest({ roof, placed }: Roofline): number {
  const above = placed.some(({ share }) => share > 1);
  return Math.max(roof.peak_flops, ...placed.map(({ rate }) => rate)) * (above ? 10 : 2.5);
}

/** Low enough for the points, a part of the slope, and the labels that stand below the roof. */
function lowest(found: Roofline, x: Scale): number {
  const { roof, placed } = found;
  const most = attainable(roof, here(found)?.intensity ?? ridge(roof));
  const labels = Math.min(MOST_LABELS, placed.length) + 3; // the roof's own, and the words beside the axis
  const share = (labels * GAP) / (BOTTOM - TOP);
  const room = 10 ** ((Math.log10(most) - share * Math.log10(highest(found))) / (1 - share));
  const [begin = 1] = x.domain();
  return Math.min(roof.peak_flops / 60, roof.bandwidth * begin, room, Math.min(...placed.map(({ rate }) => rate)) / 5);
}
