/** The parts that the report's charts are made of, as SVG text. Colours are classes: the page's style gives them the theme's. */
import { symbol, symbolCircle, symbolSquare, symbolTimes, symbolTriangle, type SymbolType } from "d3-shape";
import type { Kind } from "./points";
import { escaped } from "./text";

export const WIDTH = 560;

/** A shape for each kind, so that none is told by its colour alone. */
const SHAPES: Readonly<Record<Kind, SymbolType>> = {
  baseline: symbolSquare,
  kept: symbolCircle,
  rejected: symbolTimes,
  reverted: symbolTriangle,
};

/** A chart with a name for those who do not see it. */
export function chart(height: number, name: string, parts: readonly string[]): string {
  const said = escaped(name);
  return [
    `<div class="chart"><svg viewBox="0 0 ${WIDTH} ${height}" role="img" aria-label="${said}"><title>${said}</title>`,
    ...parts,
    "</svg></div>",
  ].join("");
}

export function segment(kind: string, [x1, y1]: Place, [x2, y2]: Place): string {
  return `<line class="${kind}" x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" />`;
}

export type Place = readonly [number, number];

/** `turn` in degrees around the place. */
export function words(text: string, [x, y]: Place, { anchor = "start", kind = "", turn = 0 } = {}): string {
  const turned = turn ? ` transform="rotate(${round(turn)} ${round(x)} ${round(y)})"` : "";
  const named = kind ? ` class="${kind}"` : "";
  return `<text${named} x="${round(x)}" y="${round(y)}" text-anchor="${anchor}"${turned}>${escaped(text)}</text>`;
}

/** The mark of a point, in a ring where it is the text of now. */
export function mark(kind: Kind, [x, y]: Place, told: string, current = false): string {
  const path = symbol(SHAPES[kind], kind === "rejected" ? 70 : 46)() ?? "";
  const ring = current ? `<circle class="ring" r="7" />` : "";
  const title = told ? `<title>${escaped(told)}</title>` : "";
  return `<g transform="translate(${round(x)} ${round(y)})">${title}${ring}<path class="mark ${kind}" d="${path}" /></g>`;
}

/** What the shapes mean, of those that are drawn. */
export function legend(kinds: readonly Kind[], [x, y]: Place): string {
  const shown = (Object.keys(SHAPES) as Kind[]).filter((kind) => kinds.includes(kind));
  return shown
    .map((kind, at) => {
      const left = x + at * 84;
      return mark(kind, [left, y - 4], "") + words(kind, [left + 11, y]);
    })
    .join("");
}

/** To a tenth: what is finer cannot be seen. */
export function round(value: number): number {
  return Math.round(value * 10) / 10;
}
