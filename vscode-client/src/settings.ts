/** Settings as the extension reads them, with paths expanded. The server's own settings reach it by its own question. */
import os from "node:os";
import * as vscode from "vscode";
import { expanded } from "./environment/candidates";

export const SECTION = "kernelwright";

export function pathSetting(name: string): string {
  const value = vscode.workspace.getConfiguration(SECTION).get<string>(name, "").trim();
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri.fsPath;
  return expanded(value, { home: os.homedir(), folder, variables: process.env });
}

export function isOn(name: string, otherwise: boolean): boolean {
  return vscode.workspace.getConfiguration(SECTION).get<boolean>(name, otherwise);
}
