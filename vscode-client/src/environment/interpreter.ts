/** The interpreter that is selected for a file, from whoever knows: neither of the Python extensions has to be there. */
import { existsSync } from "node:fs";
import path from "node:path";
import * as vscode from "vscode";
import { pythonIn } from "./candidates";

/** The parts of the Python Environments API (ms-python.vscode-python-envs) that are used here. */
interface EnvironmentsApi {
  getEnvironment?(scope: vscode.Uri | undefined): Promise<{ execInfo?: { run?: { executable?: string } } } | undefined>;
  onDidChangeEnvironment?: vscode.Event<unknown>;
}

/** The parts of the Python extension's API (ms-python.python) that are used here. */
interface PythonApi {
  environments?: {
    getActiveEnvironmentPath(resource?: vscode.Uri): { path: string };
    resolveEnvironment(environment: { path: string }): Promise<{ executable: { uri?: vscode.Uri } } | undefined>;
    onDidChangeActiveEnvironmentPath: vscode.Event<unknown>;
  };
}

/** Undefined when no extension selects one, there is no virtual environment in the folder and no `python3` on the path. */
export async function selectedInterpreter(resource: vscode.Uri | undefined): Promise<string | undefined> {
  const scope = resource ?? vscode.workspace.workspaceFolders?.[0]?.uri;
  return (await fromEnvironments(scope)) ?? (await fromPython(scope)) ?? inFolder(scope) ?? systemInterpreter();
}

/** Fires when another interpreter is selected. Does not activate an extension for it. */
export async function onDidSelectInterpreter(listener: () => void): Promise<vscode.Disposable[]> {
  const [environments, python] = await Promise.all([
    api<EnvironmentsApi>("ms-python.vscode-python-envs"),
    api<PythonApi>("ms-python.python"),
  ]);
  const events = [environments?.onDidChangeEnvironment, python?.environments?.onDidChangeActiveEnvironmentPath];
  return events.filter((event) => event !== undefined).map((event) => event(listener));
}

async function fromEnvironments(scope: vscode.Uri | undefined): Promise<string | undefined> {
  const environments = await api<EnvironmentsApi>("ms-python.vscode-python-envs");
  const environment = await environments?.getEnvironment?.(scope);
  return environment?.execInfo?.run?.executable;
}

async function fromPython(scope: vscode.Uri | undefined): Promise<string | undefined> {
  const environments = (await api<PythonApi>("ms-python.python"))?.environments;
  if (environments === undefined) return undefined;
  const active = await environments.resolveEnvironment(environments.getActiveEnvironmentPath(scope));
  return active?.executable.uri?.fsPath;
}

/** An extension's API; a failing extension is as good as none. */
async function api<T>(id: string): Promise<T | undefined> {
  const extension = vscode.extensions.getExtension<T>(id);
  if (extension === undefined) return undefined;
  try {
    return await extension.activate();
  } catch {
    return undefined;
  }
}

function inFolder(scope: vscode.Uri | undefined): string | undefined {
  const folder = scope && vscode.workspace.getWorkspaceFolder(scope)?.uri;
  if (folder?.scheme !== "file") return undefined;
  const environments = [".venv", "venv"].map((name) => pythonIn(path.join(folder.fsPath, name), process.platform));
  return environments.find((python) => existsSync(python));
}

/** The first Python on the path: no part of any workspace. */
export function systemInterpreter(): string | undefined {
  const names = process.platform === "win32" ? ["python.exe"] : ["python3", "python"];
  const folders = (process.env["PATH"] ?? "").split(path.delimiter).filter(Boolean);
  return folders.flatMap((folder) => names.map((name) => path.join(folder, name))).find((file) => existsSync(file));
}
