/** A call of a language-model tool: one request to the language server, as a job that can be stopped. */
import * as vscode from "vscode";
import type { App } from "../app";
import { isDeclined } from "../client/answers";
import { PREFIX, type Declared, type Input } from "./tools";

/** The words of the answer. Rejects with why there is none, in a sentence. */
export async function callTool(
  { supervisor, jobs }: App,
  { name, displayName, tags }: Declared,
  input: Input,
  token: vscode.CancellationToken,
): Promise<string> {
  if (tags.length > 0 && !vscode.workspace.isTrusted) {
    throw new Error("This runs code of the workspace or changes its files, and the workspace is not trusted.");
  }
  const client = await supervisor.ensure();
  if (client === undefined) throw new Error('The server does not run; the command "Kernelwright: Doctor" says why.');
  const asked = { name: name.slice(PREFIX.length), arguments: input };
  const answer = await jobs.run(client, "kernelwright.tool", asked, `${displayName}, for an agent`, token);
  if (token.isCancellationRequested) throw new vscode.CancellationError();
  if (isDeclined(answer)) throw new Error(answer.$ === "Refusal" ? answer.reason : answer.message);
  return (answer as { readonly text: string }).text;
}
