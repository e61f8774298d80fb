/** The roofline (Williams, Waterman and Patterson, 2009) over the points of a kernel, as values that are then drawn. */
import type { Measurement, Roof } from "../../client/answers";
import type { Point } from "./points";

/** A point with what it reached: FLOP/s, or bytes/s where nothing is computed, and its share of the roof above it. */
export interface Placed {
  readonly point: Point;
  readonly intensity: number;
  readonly rate: number;
  readonly share: number;
}

export interface Roofline {
  /** Which of the rates is told: a kernel that computes nothing has only its bandwidth. */
  readonly is: "performance" | "bandwidth";
  readonly unit: "FLOP/s" | "B/s";
  readonly roof: Roof;
  readonly device: string;
  readonly placed: readonly Placed[];
  /** Points that other ceilings are over, by another device or another dtype. */
  readonly leftOut: readonly Point[];
}

/** Why there is no roofline, in one sentence. */
export interface NoRoofline {
  readonly is: "none";
  readonly why: string;
}

/** `points` are those of a kernel; there is at least one. */
export function roofline(points: readonly Point[]): Roofline | NoRoofline {
  const told = (points.find(({ current }) => current) ?? points.at(-1))?.measured;
  if (!told?.roof) return none("how much this kernel moves and computes is not known");
  const { roof, device } = told;
  const lacking = unknown(roof, device);
  if (lacking) return none(lacking);
  const under = points.filter(({ measured }) => covers(told, roof, measured));
  const performance = roof.flops > 0;
  return {
    is: performance ? "performance" : "bandwidth",
    unit: performance ? "FLOP/s" : "B/s",
    roof,
    device,
    placed: under.map((point) => placed(point, point.measured.roof ?? roof)),
    leftOut: points.filter((point) => !under.includes(point)),
  };
}

/** FLOP/s that the roof allows at an intensity. */
export function attainable({ bandwidth, peak_flops: peak }: Roof, intensity: number): number {
  return Math.min(peak, bandwidth * intensity);
}

/** The intensity from which on the peak is what bounds. */
export function ridge({ bandwidth, peak_flops: peak }: Roof): number {
  return peak / bandwidth;
}

/** "TF32", "float16". */
export function dtype(roof: Roof): string {
  return roof.dtype === "tf32" ? "TF32" : roof.dtype;
}

function none(reason: string): NoRoofline {
  return { is: "none", why: `There is no roofline: ${reason}.` };
}

function unknown(roof: Roof, device: string): string {
  if (roof.bytes === 0) return roof.flops === 0 ? "the call moves and computes nothing" : "the call moves no memory";
  const lacking = [
    ...(roof.bandwidth ? [] : ["memory bandwidth"]),
    ...(roof.peak_flops || roof.flops === 0 ? [] : [`${dtype(roof)} peak`]),
  ];
  if (lacking.length === 0) return "";
  return `the ${lacking.join(" and the ")} of ${device} ${lacking.length > 1 ? "are" : "is"} not known`;
}

/** Whether a measurement was made under the same ceilings; a kernel is then told by one kind of rate. */
function covers(told: Measurement, roof: Roof, { device, roof: other }: Measurement): boolean {
  if (!other || device !== told.device || other.dtype !== roof.dtype) return false;
  const same = other.bandwidth === roof.bandwidth && other.peak_flops === roof.peak_flops;
  return same && other.bytes > 0 && other.flops > 0 === roof.flops > 0;
}

function placed(point: Point, roof: Roof): Placed {
  const seconds = point.ms / 1e3;
  const intensity = roof.flops / roof.bytes;
  const [rate, most] =
    roof.flops > 0 ? [roof.flops / seconds, attainable(roof, intensity)] : [roof.bytes / seconds, roof.bandwidth];
  return { point, intensity, rate, share: rate / most };
}
