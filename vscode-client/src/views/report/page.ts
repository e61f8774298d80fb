/** The report of one kernel as a page without scripts: trajectory, roofline, steps, the checks behind the last number. */
import { measured, milliseconds, type Step } from "../../client/answers";
import { speedup, verdict, type KernelNode } from "../kernels/model";
import { bandwidthBars } from "./bars";
import { performancePlot } from "./plot";
import { described, points, type Point } from "./points";
import { roofline, type NoRoofline, type Roofline } from "./roofline";
import { STYLE } from "./style";
import { escaped, percent, si } from "./text";
import { trajectory } from "./trajectory";

/** `nonce` admits the page's own style and nothing else; there are no scripts, images, fonts or connections. */
export function reportPage(kernel: KernelNode, file: string, nonce: string): string {
  const kept = kernel.steps.filter((step) => step.outcome === "kept");
  const last = kept.at(-1);
  const policy = `default-src 'none'; style-src 'nonce-${nonce}'`;
  return [
    "<!DOCTYPE html>",
    `<html lang="en"><head><meta charset="utf-8" />`,
    `<meta http-equiv="Content-Security-Policy" content="${policy}" />`,
    `<title>${escaped(kernel.name)}</title><style nonce="${nonce}">${STYLE}</style></head><body>`,
    `<h1>${escaped(kernel.name)} <span class="quiet">${escaped(file)}</span></h1>`,
    `<p>${escaped(last?.sentence ?? "No step was kept yet.")}</p>`,
    ...path(kernel.steps),
    ...times(points(kernel.steps)),
    ...steps(kernel.steps),
    ...(last ? checks(last) : []),
    "</body></html>",
  ].join("\n");
}

function path(all: readonly Step[]): string[] {
  const kept = all.flatMap((step, at) =>
    step.outcome === "kept" ? [{ number: at + 1, label: step.action.strategy, measured: measured(step) }] : [],
  );
  const drawn = trajectory(kept);
  return drawn ? ["<h2>Trajectory</h2>", drawn] : [];
}

/** The time of every point, and where it lies under the roof as far as that is known. */
function times(all: readonly Point[]): string[] {
  const told = (all.find(({ current }) => current) ?? all.at(-1))?.measured;
  if (told === undefined) return [];
  const found = roofline(all);
  const drawn =
    found.is === "none"
      ? `<p>${escaped(found.why)}</p>`
      : found.is === "performance"
        ? performancePlot(found)
        : bandwidthBars(found);
  const conditions = [told.device, ...Object.entries(told.conditions).map(([name, value]) => `${name}: ${value}`)];
  return [
    "<h2>Roofline</h2>",
    drawn,
    ...remarks(found).map((remark) => `<p>${escaped(remark)}</p>`),
    reached(all, found),
    `<p class="quiet">${escaped(conditions.join(" · "))}</p>`,
  ];
}

function remarks(found: Roofline | NoRoofline): string[] {
  if (found.is === "none") return [];
  const { leftOut, placed } = found;
  return [
    ...(found.is === "bandwidth"
      ? ["The kernel moves data and computes nothing: its roof is the memory's bandwidth."]
      : []),
    ...(placed.some(({ share }) => share > 1)
      ? ["Above the roof: the step computes or moves less than its baseline as written, whose work is what is counted."]
      : []),
    ...(leftOut.length
      ? [
          `Not under this roof, measured on another device or data, or by an earlier version: ${leftOut.map(described).join("; ")}.`,
        ]
      : []),
  ];
}

/** The numbers of the plot as a table. */
function reached(all: readonly Point[], found: Roofline | NoRoofline): string {
  const known = found.is === "none" ? undefined : found;
  const rows = all.map((point) => {
    const one = known?.placed.find((placed) => placed.point === point);
    const values = [
      `${milliseconds(point.ms)} ms`,
      ...(known ? [one ? si(one.rate, known.unit) : "", one ? percent(one.share) : ""] : []),
    ];
    const named = [described(point), point.number === 0 ? "" : point.name];
    return `<tr${point.current ? ` class="now"` : ""}>${named.map(name).join("")}${values.map(number).join("")}</tr>`;
  });
  const rates = known ? [known.is === "performance" ? "Performance" : "Bandwidth", "Share of the roof"] : [];
  const head = ["Measured", "Strategy"].map((name) => `<th>${name}</th>`);
  const numbers = ["Time of one call", ...rates].map((name) => `<th class="number">${name}</th>`);
  return table([...head, ...numbers], rows);
}

function steps(all: readonly Step[]): string[] {
  if (all.length === 0) return [];
  const rows = all.map((step, at) => {
    const cells = [
      `${at + 1}`,
      step.action.strategy,
      step.outcome,
      speedup(step),
      verdict(step),
      step.edits?.summary ?? "",
    ];
    return row(cells);
  });
  return ["<h2>Steps</h2>", table(heads(["", "Strategy", "Outcome", "Speedup", "Verdict", "Chosen"]), rows)];
}

function checks(step: Step): string[] {
  if (!step.verdict) return [];
  const rows = step.verdict.checks.map((check) => {
    const kind = check.passed ? "passed" : "failed";
    return `<tr><td class="${kind}">${kind}</td>${[check.name, check.case, check.detail].map(cell).join("")}</tr>`;
  });
  for (const { name, why } of step.verdict.unchecked ?? []) {
    rows.push(`<tr><td class="quiet">not made</td>${[name, "", why].map(cell).join("")}</tr>`);
  }
  const how = step.verdict.how ? ` <span class="quiet">${escaped(step.verdict.how)}</span>` : "";
  return [`<h2>Checks of the last kept step${how}</h2>`, table(heads(["", "Check", "Case", "Evidence"]), rows)];
}

function heads(names: readonly string[]): string[] {
  return names.map((name) => `<th>${name}</th>`);
}

function table(head: readonly string[], rows: readonly string[]): string {
  return `<table><thead><tr>${head.join("")}</tr></thead><tbody>${rows.join("")}</tbody></table>`;
}

function row(cells: readonly string[]): string {
  return `<tr>${cells.map(cell).join("")}</tr>`;
}

function cell(text: string): string {
  return `<td>${escaped(text)}</td>`;
}

function name(text: string): string {
  return `<td class="name">${escaped(text)}</td>`;
}

function number(text: string): string {
  return `<td class="number">${escaped(text)}</td>`;
}
