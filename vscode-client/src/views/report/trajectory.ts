/** The speedup over the baseline after each kept step, with its 95 % interval. */
import { scaleLinear, scalePoint } from "d3-scale";
import { line } from "d3-shape";
import type { Measurement } from "../../client/answers";
import { chart, mark, segment, WIDTH, words } from "./svg";

const HEIGHT = 240;
const LEFT = 48;
const RIGHT = WIDTH - 8;
const TOP = 50;
const BOTTOM = 192;
const NARROW = 72; // between two steps: their numbers would touch

/** Without a measurement the step is shown and no number is claimed. */
export interface Kept {
  /** The step's number among all of the kernel. */
  readonly number: number;
  readonly label: string;
  readonly measured: Measurement | undefined;
}

/** Empty when nothing was measured. */
export function trajectory(steps: readonly Kept[]): string {
  const speedups = steps.flatMap((step) => (step.measured ? [{ ...step, measured: step.measured }] : []));
  if (speedups.length === 0) return "";
  const high = Math.max(1, ...speedups.map(({ measured }) => Math.max(measured.speedup, measured.speedup_high)));
  const x = scalePoint([0, ...steps.map(({ number }) => number)], [LEFT, RIGHT]).padding(0.5);
  const y = scaleLinear([0, high], [BOTTOM, TOP]).nice(4);
  const at = (number: number): number => x(number) ?? LEFT;
  const best = Math.max(...speedups.map(({ measured }) => measured.speedup));
  const told = (number: number, speedup: number): boolean =>
    x.step() >= NARROW || speedup === best || number === speedups.at(-1)?.number;
  const path = line()([[at(0), y(1)], ...speedups.map((s): [number, number] => [at(s.number), y(s.measured.speedup)])]);
  const last = steps.at(-1);
  const said = speedups.map(({ number, measured }) => `step ${number} ${times(measured.speedup)}`).join(", ");
  return chart(HEIGHT, `Speedup over the baseline after each kept step: ${said}`, [
    ...y
      .ticks(4)
      .flatMap((value) => [
        segment("grid", [LEFT, y(value)], [RIGHT, y(value)]),
        words(`${value}x`, [LEFT - 8, y(value) + 4], { anchor: "end" }),
      ]),
    segment("axis", [LEFT, BOTTOM], [RIGHT, BOTTOM]),
    segment("guide", [LEFT, y(1)], [RIGHT, y(1)]),
    words("Speedup over the baseline, with 95 % intervals", [4, 14], { kind: "title" }),
    words("Kept step", [(LEFT + RIGHT) / 2, BOTTOM + 38], { anchor: "middle", kind: "title" }),
    words("Baseline", [at(0), BOTTOM + 17], { anchor: "middle" }),
    ...steps.map(({ number }) => words(`${number}`, [at(number), BOTTOM + 17], { anchor: "middle" })),
    `<path class="path" d="${path ?? ""}" />`,
    mark("baseline", [at(0), y(1)], "Baseline: 1.00x"),
    ...speedups.map(({ number, label, measured }) => {
      const { speedup, speedup_low: from, speedup_high: to } = measured;
      const current = number === last?.number;
      const above = y(to) - 11;
      const value = told(number, speedup)
        ? words(times(speedup), [at(number), above - 12], { anchor: "middle", kind: current ? "strong" : "" }) +
          words(`${from.toFixed(2)}\u2013${to.toFixed(2)}`, [at(number), above], { anchor: "middle", kind: "quiet" })
        : "";
      const whisker = [
        segment("interval", [at(number), y(from)], [at(number), y(to)]),
        ...[from, to].map((end) => segment("interval", [at(number) - 5, y(end)], [at(number) + 5, y(end)])),
      ];
      const title = `${number}, ${label}: ${times(speedup)} (${times(from)} to ${times(to)})`;
      return whisker.join("") + mark("kept", [at(number), y(speedup)], title, current) + value;
    }),
  ]);
}

function times(speedup: number): string {
  return `${speedup.toFixed(2)}x`;
}
