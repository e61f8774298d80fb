/** The files of the workspace that have kernels of their own, found by their text. */
import * as vscode from "vscode";
import { hasKernels } from "../../relevance";

export const FILES = "**/*.{py,cu,cuh}";
const MOST_FILES = 2000; // looked at; a larger workspace shows the files that are open
const EXCLUDED = "**/{node_modules,site-packages,.venv,venv,build,dist,__pycache__,.git}/**";

export async function kernelFiles(token?: vscode.CancellationToken): Promise<readonly vscode.Uri[]> {
  const found = await vscode.workspace.findFiles(FILES, EXCLUDED, MOST_FILES, token);
  const looked = await Promise.all(found.map(async (uri) => ((await readsAsKernels(uri)) ? uri : undefined)));
  return looked.filter((uri) => uri !== undefined);
}

async function readsAsKernels(uri: vscode.Uri): Promise<boolean> {
  try {
    return hasKernels(Buffer.from(await vscode.workspace.fs.readFile(uri)).toString("utf8"));
  } catch {
    return false; // removed meanwhile, or not to be read
  }
}
