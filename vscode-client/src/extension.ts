/**
 * The extension's entry. Python files are common and kernels are rare: what is done here for every Python file is a
 * regular expression over its text; `full`, a bundle of its own, is loaded with the first file that has something for it.
 */
import * as vscode from "vscode";
import { isMcpOn, offerToAgents, type AgentsApi } from "./agents/provider";
import { offerTools, type Declared, type ToolsApi } from "./agents/tools";
import type { Loaded } from "./app";
import { isRelevant } from "./relevance";
import { lazyTree } from "./views/kernels/lazy";

let loaded: Promise<Loaded> | undefined;

export function activate(context: vscode.ExtensionContext): void {
  const found = new vscode.EventEmitter<void>(); // a server that agents may start, perhaps another one than before
  const load = (): Promise<Loaded> =>
    (loaded ??= import("./full").then((full) => full.start(context, () => found.fire())));
  let wanted = false; // a command loads the extension too, and some of them, like the log's, start no server
  const consider = (document: vscode.TextDocument, text = document.getText()): void => {
    if (wanted || document.uri.scheme !== "file" || !isRelevant(document.languageId, text)) return;
    wanted = true;
    void load().then(({ app }) => app.supervisor.ensure());
  };
  const { contributes: contributed } = context.extension.packageJSON as {
    contributes: { commands: { command: string }[]; languageModelTools: Declared[] };
  };
  const forAgents = offerToAgents(vscode as AgentsApi, found.event, async () => (await load()).serversForAgents());
  const tellIsServer = (): void => {
    const isServer = forAgents !== undefined && isMcpOn(vscode.workspace.getConfiguration("chat.mcp"));
    void vscode.commands.executeCommand("setContext", "kernelwright.isServerForAgents", isServer);
  };
  tellIsServer();
  const tools = offerTools(
    vscode as ToolsApi<vscode.CancellationToken>,
    contributed.languageModelTools,
    async (tool, input, token) => (await load()).callTool(tool, input, token),
  );
  context.subscriptions.push(
    found,
    ...(forAgents ? [forAgents] : []),
    ...tools,
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration("chat.mcp")) tellIsServer();
    }),
    vscode.workspace.onDidOpenTextDocument((document) => consider(document)),
    vscode.workspace.onDidChangeTextDocument(({ document, contentChanges }) => {
      for (const { range } of contentChanges) consider(document, document.lineAt(range.start.line).text);
    }),
    ...contributed.commands.map(({ command }) =>
      vscode.commands.registerCommand(command, async (argument: unknown) =>
        (await load()).commands[command]?.(argument),
      ),
    ),
    vscode.window.registerTreeDataProvider("kernelwright.kernels", lazyTree(load)),
  );
  for (const document of vscode.workspace.textDocuments) consider(document);
}

export async function deactivate(): Promise<void> {
  await (await loaded)?.app.supervisor.stop();
}
