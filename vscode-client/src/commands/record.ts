/** "Record Workloads From…": which test or script is to be run, where several come to the file. */
import * as vscode from "vscode";
import { ExecuteCommandRequest } from "vscode-languageclient/node";
import type { App } from "../app";
import { ask } from "./ask";
import { subject } from "./subject";
import { RECORD } from "./table";

export async function record(app: App, argument: unknown): Promise<unknown> {
  const about = await subject(isKernel(argument) ? { uri: argument.uri } : argument);
  if (about === undefined) return undefined;
  const { uri } = about;
  const found = await callers(app, uri);
  if (found.length < 2) return ask(app, RECORD, { uri }); // the server says where there is none
  const items = found.map((path) => ({ label: vscode.workspace.asRelativePath(path), path }));
  const placeHolder = "The test or script that is run once, to record how it calls the kernels of this file";
  const picked = await vscode.window.showQuickPick(items, { placeHolder });
  return picked && ask(app, RECORD, { uri, script: picked.path });
}

/** A kernel of the kernels view. */
function isKernel(argument: unknown): argument is { readonly uri: string } {
  return typeof argument === "object" && argument !== null && "is" in argument && argument.is === "kernel";
}

async function callers(app: App, uri: string): Promise<readonly string[]> {
  const client = await app.supervisor.ensure();
  const params = { command: "kernelwright.callers", arguments: [{ uri }] };
  const answer: unknown = await client?.sendRequest(ExecuteCommandRequest.type, params);
  return Array.isArray(answer) ? (answer as string[]) : [];
}
