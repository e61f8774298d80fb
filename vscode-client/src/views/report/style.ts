/** The report's style: every colour is one of the editor's theme, and of the system where colours are forced. */

export const STYLE = `
  body { color: var(--vscode-foreground); background: var(--vscode-editor-background); font: 13px var(--vscode-font-family); max-width: 60em; padding: 0 1.5em 2em; }
  h1 { font-size: 1.5em; font-weight: 500; } h2 { font-size: 1.1em; margin-top: 2em; }
  table { border-collapse: collapse; } th, td { text-align: left; vertical-align: top; padding: 0.25em 1.2em 0.25em 0; border-bottom: 1px solid var(--vscode-widget-border, var(--vscode-contrastBorder, #8884)); }
  .number { text-align: right; font-variant-numeric: tabular-nums; }
  .now { font-weight: bold; }
  .quiet { color: var(--vscode-descriptionForeground); }
  .passed, .failed, .name, td.number { white-space: nowrap; }
  .passed::before { content: "✓ " / ""; color: var(--vscode-charts-green); } .failed { font-weight: bold; } .failed::before { content: "✗ " / ""; color: var(--vscode-errorForeground); }
  .chart { overflow-x: auto; }
  svg { --ink: var(--vscode-foreground); --paper: var(--vscode-editor-background); --soft: var(--vscode-descriptionForeground); --kept: var(--vscode-charts-green); --base: var(--vscode-charts-blue);
    display: block; width: 100%; min-width: 440px; max-width: 640px; margin: 0.5em 0; }
  svg text { fill: var(--ink); font: 11px var(--vscode-font-family); stroke: var(--paper); stroke-width: 3; stroke-linejoin: round; paint-order: stroke; }
  svg text.quiet { fill: var(--soft); } svg text.strong, svg text.title { font-weight: 600; }
  .grid { stroke: var(--soft); stroke-opacity: 0.25; } .axis { stroke: var(--soft); }
  .guide { stroke: var(--soft); stroke-dasharray: 4 3; } .leader { fill: none; stroke: var(--soft); stroke-opacity: 0.7; }
  .roof { fill: none; stroke: var(--ink); stroke-width: 2; stroke-linejoin: round; } .ridge { fill: var(--ink); } .limit { stroke: var(--ink); stroke-width: 2; }
  .interval { stroke: var(--ink); stroke-width: 1.5; } .path { fill: none; stroke: var(--kept); stroke-width: 1.5; }
  .mark { stroke: var(--paper); } .ring { fill: none; stroke: var(--ink); stroke-width: 1.5; }
  .mark.kept { fill: var(--kept); } .mark.baseline { fill: var(--base); }
  .mark.rejected { fill: none; stroke: var(--ink); stroke-width: 2; } .mark.reverted { fill: var(--paper); stroke: var(--ink); stroke-width: 1.5; }
  @media (forced-colors: active) { svg { forced-color-adjust: none; --ink: CanvasText; --paper: Canvas; --soft: CanvasText; --kept: Highlight; --base: CanvasText; } }
`;
