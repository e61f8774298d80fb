/** The servers for agents in this window. */
import * as vscode from "vscode";
import type { App } from "../app";
import { pathSetting } from "../settings";
import { definition, type Definition } from "./definition";

/** One for the first folder; none in a workspace that is not trusted, and where no Kernelwright is installed. */
export async function serversForAgents({ finder, supervisor }: App): Promise<readonly Definition[]> {
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  if (!vscode.workspace.isTrusted || folder?.scheme !== "file") return [];
  const { launch, interpreter } = supervisor.running ? finder.located : await finder.find();
  return launch ? [definition(launch, folder.fsPath, pathSetting("interpreter") || (interpreter ?? ""))] : [];
}
