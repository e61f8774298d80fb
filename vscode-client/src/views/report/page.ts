/** The report of one kernel as a page without scripts: trajectory, roofline, the checks behind the last number. */
import { measured, type Step } from "../../client/answers";
import { speedup, verdict, type KernelNode } from "../kernels/model";
import { escaped, roofline, trajectory } from "./charts";

const STYLE = `
  body { color: var(--vscode-foreground); background: var(--vscode-editor-background); font: 13px var(--vscode-font-family); max-width: 60em; padding: 0 1.5em 2em; }
  h1 { font-size: 1.5em; font-weight: 500; } h2 { font-size: 1.1em; margin-top: 2em; }
  table { border-collapse: collapse; } th, td { text-align: left; vertical-align: top; padding: 0.25em 1.2em 0.25em 0; border-bottom: 1px solid var(--vscode-widget-border, var(--vscode-contrastBorder, #8884)); }
  .quiet { color: var(--vscode-descriptionForeground); }
  .passed, .failed { white-space: nowrap; }
  .passed::before { content: "✓ " / ""; color: var(--vscode-charts-green); } .failed { font-weight: bold; } .failed::before { content: "✗ " / ""; color: var(--vscode-errorForeground); }
  svg { max-width: 560px; width: 100%; } svg text { fill: var(--vscode-foreground); font-size: 11px; }
  .axis { stroke: var(--vscode-descriptionForeground); stroke-dasharray: 4 3; } .interval { stroke: var(--vscode-charts-green); stroke-width: 2; }
  .path { fill: none; stroke: var(--vscode-charts-green); } .point { fill: var(--vscode-charts-green); }
  .bar { fill: var(--vscode-charts-green); } .before { fill: var(--vscode-charts-blue); } .roof { fill: var(--vscode-charts-orange); }
  @media (forced-colors: active) { svg { forced-color-adjust: none; } }
`;

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
    ...charts(kernel.steps),
    ...steps(kernel.steps),
    ...(last ? checks(last) : []),
    "</body></html>",
  ].join("\n");
}

function charts(all: readonly Step[]): string[] {
  const points = all.flatMap((step, at) =>
    step.outcome === "kept" ? [{ number: at + 1, label: step.action.strategy, measured: measured(step) }] : [],
  );
  const last = points.at(-1)?.measured;
  const path = trajectory(points);
  const conditions = last
    ? [last.device, ...Object.entries(last.conditions).map(([name, value]) => `${name}: ${value}`)]
    : [];
  return [
    ...(path ? ["<h2>Trajectory</h2>", path] : []),
    ...(last ? ["<h2>Time and roofline</h2>", roofline(last)] : []),
    ...(conditions.length ? [`<p class="quiet">${escaped(conditions.join(" · "))}</p>`] : []),
  ];
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
  return ["<h2>Steps</h2>", table(["", "Strategy", "Outcome", "Speedup", "Verdict", "Chosen"], rows)];
}

function checks(step: Step): string[] {
  if (!step.verdict) return [];
  const rows = step.verdict.checks.map((check) => {
    const kind = check.passed ? "passed" : "failed";
    return `<tr><td class="${kind}">${kind}</td>${[check.name, check.case, check.detail].map(cell).join("")}</tr>`;
  });
  const how = step.verdict.how ? ` <span class="quiet">${escaped(step.verdict.how)}</span>` : "";
  return [`<h2>Checks of the last kept step${how}</h2>`, table(["", "Check", "Case", "Evidence"], rows)];
}

function table(head: readonly string[], rows: readonly string[]): string {
  const names = head.map((name) => `<th>${name}</th>`).join("");
  return `<table><thead><tr>${names}</tr></thead><tbody>${rows.join("")}</tbody></table>`;
}

function row(cells: readonly string[]): string {
  return `<tr>${cells.map(cell).join("")}</tr>`;
}

function cell(text: string): string {
  return `<td>${escaped(text)}</td>`;
}
