/** The extension's parts, made once and handed to what needs them. */
import type * as vscode from "vscode";
import type { Definition } from "./agents/definition";
import type { Declared, Input } from "./agents/tools";
import type { Jobs } from "./client/jobs";
import type { Supervisor } from "./client/supervisor";
import type { ServerFinder } from "./environment/server";
import type { KernelsTree } from "./views/kernels/tree";
import type { Pages } from "./views/pages";
import type { Reports } from "./views/report/panel";

export interface App {
  readonly context: vscode.ExtensionContext;
  readonly log: vscode.LogOutputChannel;
  readonly trace: vscode.LogOutputChannel;
  readonly finder: ServerFinder;
  readonly supervisor: Supervisor;
  readonly jobs: Jobs;
  readonly pages: Pages;
  readonly kernels: KernelsTree;
  readonly reports: Reports;
}

/** Handlers by the ids of `contributes.commands`. */
export type Commands = Readonly<Record<string, (argument?: unknown) => unknown>>;

export interface Loaded {
  readonly app: App;
  readonly commands: Commands;
  readonly serversForAgents: () => Promise<readonly Definition[]>;
  readonly callTool: (tool: Declared, input: Input, token: vscode.CancellationToken) => Promise<string>;
}
