/** The log, and a channel for the protocol's trace that exists only once something is traced. */
import * as vscode from "vscode";
import { SECTION } from "../settings";
import { insisted } from "./insisted";

export function logChannel(): vscode.LogOutputChannel {
  return vscode.window.createOutputChannel("Kernelwright", { log: true });
}

/** VS Code shows nothing of a log that it has not registered yet, which can be so where a command loads the extension. */
export async function showLog(log: vscode.LogOutputChannel): Promise<void> {
  const shown = (): boolean =>
    vscode.window.visibleTextEditors.some(
      ({ document: { uri } }) => uri.scheme === "output" && uri.path.endsWith(`.${log.name}`),
    );
  await insisted((before) => log.show(before > 0), shown);
}

export class TraceChannel implements vscode.LogOutputChannel {
  readonly name = "Kernelwright Trace";
  private channel: vscode.OutputChannel | undefined;
  private readonly changed = new vscode.EventEmitter<vscode.LogLevel>();
  private readonly listener = vscode.workspace.onDidChangeConfiguration((event) => {
    if (event.affectsConfiguration(`${SECTION}.trace.server`)) this.changed.fire(this.logLevel);
  });
  readonly onDidChangeLogLevel = this.changed.event;

  /** The client traces what a channel at level Trace is shown; the setting decides here, not the channel's own level. */
  get logLevel(): vscode.LogLevel {
    const setting = vscode.workspace.getConfiguration(SECTION).get<string>("trace.server", "off");
    return setting === "off" ? vscode.LogLevel.Off : vscode.LogLevel.Trace;
  }

  trace = (message: string): void => this.appendLine(message);
  debug = this.trace;
  info = this.trace;
  warn = this.trace;
  error = (message: string | Error): void => this.appendLine(String(message));

  append(value: string): void {
    this.existing().append(value);
  }
  appendLine(value: string): void {
    this.existing().appendLine(`${new Date().toISOString()} ${value}`);
  }
  replace(value: string): void {
    this.channel?.replace(value);
  }
  clear(): void {
    this.channel?.clear();
  }
  show(): void {
    this.existing().show(true);
  }
  hide(): void {
    this.channel?.hide();
  }
  dispose(): void {
    this.listener.dispose();
    this.changed.dispose();
    this.channel?.dispose();
  }

  private existing(): vscode.OutputChannel {
    return (this.channel ??= vscode.window.createOutputChannel(this.name));
  }
}
