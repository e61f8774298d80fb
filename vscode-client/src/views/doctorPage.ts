/** The doctor's page as Markdown: what was looked at to find the server, what it says of the toolchain, and versions. */
import type { DoctorLine } from "../client/answers";
import { sentence, type ServerState } from "../client/state";
import type { Look } from "../environment/candidates";

export interface Examined {
  readonly state: ServerState;
  readonly looks: readonly Look[];
  readonly started: string;
  readonly interpreter: string | undefined;
  readonly trusted: boolean;
  readonly lines: readonly DoctorLine[] | undefined;
  readonly versions: Readonly<Record<string, string>>;
}

const SOURCES: Readonly<Record<Look["source"], string>> = {
  setting: "`kernelwright.server.path`",
  interpreter: "Selected interpreter",
  managed: "Environment of the extension",
};

export function doctorPage(examined: Examined): string {
  const { state, looks, lines } = examined;
  const kernels = examined.interpreter ? code(examined.interpreter) : "none is selected";
  return [
    "# Kernelwright: Doctor",
    "",
    "## Server",
    "",
    `${sentence(state)}.`,
    "",
    ...(examined.started ? [`Command: ${code(examined.started)}`, ""] : []),
    `Interpreter selected in the editor: ${kernels}. ${examined.trusted ? "" : "The workspace is not trusted, so its code is not run."}`,
    "",
    ...(looks.length > 0
      ? table(
          ["", "Looked at", "Where", "Found"],
          looks.map((look) => [mark(look.found), SOURCES[look.source], code(look.where), look.detail]),
        )
      : []),
    "## Toolchain",
    "",
    ...(lines === undefined
      ? ["The server does not run, so it could not be asked.", ""]
      : table(
          ["", "Part", "Found", "What to do"],
          lines.map((line) => [
            mark(line.found),
            line.name,
            line.found ? line.detail : line.detail || "missing",
            line.found ? "" : line.remedy,
          ]),
        )),
    "## Versions",
    "",
    ...table(["Part", "Version"], Object.entries(examined.versions)),
  ].join("\n");
}

function mark(found: boolean): string {
  return found ? "✓" : "✗";
}

function code(text: string): string {
  return text ? `\`${text}\`` : "";
}

export function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line), ""];
}

function cell(text: string): string {
  return text.replace(/\s*\n\s*/g, " ").replace(/\|/g, "\\|");
}
