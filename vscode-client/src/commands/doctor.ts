/** "Doctor": a page of what was found, also when the server is not there to be asked. */
import * as vscode from "vscode";
import type { App } from "../app";
import type { DoctorLine } from "../client/answers";
import { doctorPage } from "../views/doctorPage";

export async function doctor(app: App): Promise<void> {
  const client = await app.supervisor.ensure();
  const lines = client && (await toolchain(app));
  const { launch, looks, interpreter } = app.finder.located;
  const page = doctorPage({
    state: app.supervisor.state,
    looks,
    started: launch ? [launch.command, ...launch.args].join(" ") : "",
    interpreter,
    trusted: vscode.workspace.isTrusted,
    lines,
    versions: {
      Extension: (app.context.extension.packageJSON as { version: string }).version,
      Editor: `${vscode.env.appName} ${vscode.version}`,
      System: `${process.platform} ${process.arch}${vscode.env.remoteName ? `, remote: ${vscode.env.remoteName}` : ""}`,
    },
  });
  await app.pages.show("Kernelwright Doctor", page);
}

/** The server's lines; it starts a worker for them, which imports the user's packages, so the workspace must be trusted. */
export async function toolchain(app: App): Promise<readonly DoctorLine[] | undefined> {
  const client = app.supervisor.running;
  if (client === undefined || !vscode.workspace.isTrusted) return undefined;
  const editor = vscode.window.activeTextEditor?.document;
  const folder = vscode.workspace.workspaceFolders?.[0]?.uri;
  const uri = (editor?.uri.scheme === "file" ? editor.uri : folder)?.toString() ?? "";
  const answer = await app.jobs
    .run(client, "kernelwright.doctor", { uri, quiet: true }, "Looking at the toolchain")
    .catch(() => undefined);
  return Array.isArray(answer) ? (answer as DoctorLine[]) : undefined;
}
