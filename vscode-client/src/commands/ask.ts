/** Asks the server to carry out a command, with everything that may stand in the way said in words. */
import * as vscode from "vscode";
import { ErrorCodes, ResponseError } from "vscode-languageclient/node";
import type { App } from "../app";
import { isDeclined } from "../client/answers";
import { titled, type KernelCommand, type Subject } from "./table";

function serverEnded(error: unknown): boolean {
  return error instanceof ResponseError && error.code === ErrorCodes.PendingResponseRejected;
}

/** The server's answer; undefined when there is none, which was then said. */
export async function ask(app: App, command: KernelCommand, subject: Subject): Promise<unknown> {
  if (command.runsCode && !vscode.workspace.isTrusted) {
    const manage = "Manage Workspace Trust";
    const said = "This runs code of the workspace, which is not trusted.";
    const answer = await vscode.window.showWarningMessage(`Kernelwright: ${said}`, manage);
    if (answer === manage) await vscode.commands.executeCommand("workbench.trust.manage");
    return undefined;
  }
  const client = await app.supervisor.ensure();
  if (client === undefined) return undefined;
  const title = titled(command, subject);
  try {
    const answer = await app.jobs.run(client, command.id, subject, title);
    // A person who asked for something and gets nothing is told why; failures the server tells by itself.
    if (isDeclined(answer) && answer.$ === "Refusal") void vscode.window.showInformationMessage(answer.reason);
    return answer;
  } catch (error) {
    app.log.error(`${command.id}: ${String(error)}`);
    const logs = "Open Logs";
    const why = serverEnded(error)
      ? "its server ended. Nothing was changed; the server starts again by itself."
      : String(error);
    const shown = vscode.window.showErrorMessage(`Kernelwright: ${title} was interrupted: ${why}`, logs);
    void shown.then((answer) => answer === logs && app.log.show());
    return undefined;
  }
}
