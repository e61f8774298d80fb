/** The roofline plot: performance over arithmetic intensity, both logarithmic, with the points under their roof. */
import { line } from "d3-shape";
import { BOTTOM, HEIGHT, here, LEFT, powers, RIGHT, scalesOf, TOP, type Scales } from "./frame";
import { labels } from "./labels";
import { described } from "./points";
import { attainable, dtype, ridge, type Roofline } from "./roofline";
import { chart, legend, mark, segment, words, type Place } from "./svg";
import { intensity, percent, si } from "./text";

export function performancePlot(found: Roofline): string {
  const scales = scalesOf(found);
  const kinds = found.placed.map(({ point }) => point.kind);
  return chart(HEIGHT, spoken(found), [
    ...axes(scales),
    ...guides(found, scales),
    ...ceilings(found, scales),
    ...labels(found, scales),
    ...marks(found, scales),
    legend(kinds, [LEFT + 6, HEIGHT - 8]),
  ]);
}

/** The plot in words: its numbers are in the table beside it. */
function spoken({ device, roof, placed }: Roofline): string {
  const now = placed.find(({ point }) => point.current);
  const bound = placed.some((one) => one.intensity < ridge(roof)) ? "memory" : "compute";
  const reached = now ? `; ${described(now.point)}: ${percent(now.share)} of the roof` : "";
  return `Roofline of ${device}: ${bound}-bound, ${placed.length} points${reached}`;
}

function axes({ x, y }: Scales): string[] {
  return [
    ...powers(y).flatMap((value) => [
      segment("grid", [LEFT, y(value)], [RIGHT, y(value)]),
      words(si(value, "FLOP/s"), [LEFT - 8, y(value) + 4], { anchor: "end" }),
    ]),
    ...powers(x).flatMap((value) => [
      segment("grid", [x(value), TOP], [x(value), BOTTOM]),
      words(value.toLocaleString("en", { maximumFractionDigits: 20 }), [x(value), BOTTOM + 16], { anchor: "middle" }),
    ]),
    segment("axis", [LEFT, TOP], [LEFT, BOTTOM]),
    segment("axis", [LEFT, BOTTOM], [RIGHT, BOTTOM]),
    words("Performance (FLOP/s)", [4, 14], { kind: "title" }),
    words("Arithmetic intensity (FLOP/byte)", [(LEFT + RIGHT) / 2, BOTTOM + 36], { anchor: "middle", kind: "title" }),
  ];
}

/** Where the kernel is and where the ridge is, down to the axis; each has its words on the side away from the other. */
function guides(found: Roofline, { x, y }: Scales): string[] {
  const { roof } = found;
  const corner = ridge(roof);
  const now = here(found);
  if (now === undefined) return [];
  const before = now.intensity < corner;
  const guide = (at: number, said: string, left: boolean): string =>
    segment("guide", [x(at), y(attainable(roof, at))], [x(at), BOTTOM]) +
    words(said, [x(at) + (left ? -6 : 6), BOTTOM - 8], { anchor: left ? "end" : "start", kind: "quiet" });
  return [guide(now.intensity, intensity(now.intensity), before), guide(corner, `Ridge ${intensity(corner)}`, !before)];
}

function ceilings({ roof }: Roofline, { x, y }: Scales): string[] {
  const [begin = 1, end = 1] = x.domain();
  const [low = 1] = y.domain();
  const corner: Place = [x(ridge(roof)), y(roof.peak_flops)];
  const foot = Math.max(begin, low / roof.bandwidth);
  const from: Place = [x(foot), y(roof.bandwidth * foot)];
  const path = line()([[...from], [...corner], [x(end), corner[1]]]) ?? "";
  const turn = (Math.atan2(corner[1] - from[1], corner[0] - from[0]) * 180) / Math.PI;
  const middle: Place = [(from[0] + corner[0]) / 2 - 6, (from[1] + corner[1]) / 2 - 6];
  return [
    `<path class="roof" d="${path}" />`,
    `<circle class="ridge" cx="${corner[0].toFixed(1)}" cy="${corner[1].toFixed(1)}" r="3.5" />`,
    words(`Memory ${si(roof.bandwidth, "B/s")}`, middle, { anchor: "middle", turn, kind: "strong" }),
    words(`Peak ${si(roof.peak_flops, "FLOP/s")} (${dtype(roof)})`, [RIGHT - 2, corner[1] - 7], {
      anchor: "end",
      kind: "strong",
    }),
  ];
}

/** The text of now on top, and a bar where its roof is. */
function marks(found: Roofline, { x, y }: Scales): string[] {
  const now = here(found);
  if (now === undefined) return [];
  const top: Place = [x(now.intensity), y(attainable(found.roof, now.intensity))];
  const drawn = [...found.placed].sort((one, other) => Number(one.point.current) - Number(other.point.current));
  return [
    segment("limit", [top[0] - 7, top[1]], [top[0] + 7, top[1]]),
    ...drawn.map(({ point, intensity, rate, share }) => {
      const told = `${described(point)}: ${si(rate, "FLOP/s")}, ${percent(share)} of the roof`;
      return mark(point.kind, [x(intensity), y(rate)], told, point.current);
    }),
  ];
}
