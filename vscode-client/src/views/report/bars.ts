/** Achieved bandwidth beside the device's, for a kernel that moves data and computes nothing. */
import { scaleLinear } from "d3-scale";
import { described } from "./points";
import type { Roofline } from "./roofline";
import { chart, round, segment, WIDTH, words } from "./svg";
import { percent, si } from "./text";

const LEFT = 118;
const RIGHT = WIDTH - 128; // the numbers have a column of their own
const TOP = 26;
const ROW = 28;

export function bandwidthBars({ device, roof, placed }: Roofline): string {
  const most = Math.max(roof.bandwidth, ...placed.map(({ rate }) => rate));
  const x = scaleLinear([0, most], [LEFT, RIGHT]);
  const bottom = TOP + placed.length * ROW;
  const now = placed.find(({ point }) => point.current);
  const reached = now ? `; ${described(now.point)}: ${percent(now.share)} of it` : "";
  return chart(bottom + 42, `Bandwidth reached beside that of ${device}${reached}`, [
    ...x
      .ticks(5)
      .flatMap((value) => [
        segment("grid", [x(value), TOP], [x(value), bottom]),
        words(si(value, "B/s"), [x(value), bottom + 16], { anchor: "middle" }),
      ]),
    ...placed.map(({ point, rate, share }, at) => {
      const y = TOP + at * ROW;
      const name = words(described(point), [LEFT - 8, y + 18], { anchor: "end", kind: point.current ? "strong" : "" });
      const bar = `<rect class="mark ${point.kind}" x="${LEFT}" y="${y + 5}" width="${round(x(rate) - LEFT)}" height="18" />`;
      return name + bar + words(`${si(rate, "B/s")}, ${percent(share)}`, [RIGHT + 10, y + 18]);
    }),
    segment("axis", [LEFT, TOP], [LEFT, bottom]),
    segment("roof", [x(roof.bandwidth), TOP - 6], [x(roof.bandwidth), bottom]),
    words(`Memory ${si(roof.bandwidth, "B/s")}`, [x(roof.bandwidth), TOP - 12], { anchor: "middle", kind: "strong" }),
    words("Bandwidth (B/s)", [(LEFT + RIGHT) / 2, bottom + 36], { anchor: "middle", kind: "title" }),
  ]);
}
