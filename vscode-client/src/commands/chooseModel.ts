/** "Choose the Language Model": writes the user's setting `kernelwright.model`. */
import * as vscode from "vscode";
import { SECTION } from "../settings";
import { modelChoices, type Choice } from "./modelChoices";

export async function chooseModel(): Promise<string | undefined> {
  const configuration = vscode.workspace.getConfiguration(SECTION);
  const known = await vscode.lm.selectChatModels();
  const chosen = await vscode.window.showQuickPick(modelChoices(known, configuration.get("model", "")), {
    title: "The language model that writes what no rule can",
    matchOnDescription: true,
  });
  const value = chosen && (await completed(chosen));
  if (value === undefined) return undefined;
  await configuration.update("model", value, vscode.ConfigurationTarget.Global);
  return value;
}

/** The setting's value; undefined where the person has thought better of it. */
async function completed({ value, asks }: Choice): Promise<string | undefined> {
  if (asks === undefined) return value;
  const rest = asks === "name" ? await name() : await place(asks === "folder");
  return rest && value + rest;
}

function name(): Thenable<string | undefined> {
  return vscode.window.showInputBox({
    title: "The model's name, as LiteLLM has it",
    prompt: "The key is set by a command of its own; a server of your own also needs its address in modelBaseUrl.",
    placeHolder: "anthropic/claude-sonnet-4-5",
    ignoreFocusOut: true,
  });
}

async function place(isFolder: boolean): Promise<string | undefined> {
  const [chosen] =
    (await vscode.window.showOpenDialog({ canSelectFolders: isFolder, canSelectFiles: !isFolder })) ?? [];
  return chosen?.fsPath;
}
