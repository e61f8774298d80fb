/** The kernels view: what the server says of files that have kernels, asked when a file is expanded. */
import * as vscode from "vscode";
import { CodeLensRequest, ExecuteCommandRequest } from "vscode-languageclient/node";
import type { Step } from "../../client/answers";
import type { Jobs } from "../../client/jobs";
import type { Supervisor } from "../../client/supervisor";
import { SELECTOR } from "../../client/connection";
import { isRelevant } from "../../relevance";
import { FILES, kernelFiles } from "./files";
import { kernelLook, kernelNodes, stepLook, stepNodes, type KernelNode, type Look, type Node } from "./model";

const PAUSE_MS = 150; // several things happen at the end of a job; the view is drawn once for them

export class KernelsTree implements vscode.TreeDataProvider<Node>, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<Node | undefined>();
  readonly onDidChangeTreeData = this.changed.event;
  private files: Promise<readonly vscode.Uri[]> | undefined;
  private timer: NodeJS.Timeout | undefined;
  private readonly listeners: vscode.Disposable[];

  constructor(
    private readonly supervisor: Supervisor,
    jobs: Jobs,
    private readonly log: vscode.LogOutputChannel,
  ) {
    const soon = (): void => this.soon();
    const lookAgain = (): void => {
      this.files = undefined;
      soon();
    };
    const watcher = vscode.workspace.createFileSystemWatcher(FILES, false, true, false);
    this.listeners = [
      this.changed,
      watcher,
      watcher.onDidCreate(lookAgain),
      watcher.onDidDelete(lookAgain), // a file that is renamed is deleted and created
      supervisor.onDidChange(soon),
      jobs.onDidFinish(soon),
      vscode.workspace.onDidSaveTextDocument(soon),
      vscode.window.onDidChangeVisibleTextEditors(soon),
    ];
  }

  /** Looks through the workspace again. */
  refresh(): void {
    this.files = undefined;
    this.changed.fire(undefined);
  }

  getTreeItem(node: Node): vscode.TreeItem {
    if (node.is === "file") return fileItem(node.uri);
    const look = node.is === "kernel" ? kernelLook(node) : stepLook(node);
    const item = withLook(look, node.is === "kernel" && node.steps.length > 0);
    if (node.is === "kernel") item.command = reveal(node);
    else if (node.step.edits) {
      item.command = { command: "kernelwright.showDiff", title: "Show diff", arguments: [node] };
    }
    return item;
  }

  async getChildren(node?: Node): Promise<Node[]> {
    if (node?.is === "step" || this.supervisor.running === undefined) return [];
    if (node?.is === "kernel") return [...stepNodes(node)];
    return node ? [...(await this.kernels(node.uri))] : this.roots();
  }

  /** The kernels of a file with their steps; a file that is not open is opened for the server, not on the screen. */
  async kernels(uri: string): Promise<readonly KernelNode[]> {
    const client = this.supervisor.running;
    if (client === undefined) return [];
    try {
      const document = await vscode.workspace.openTextDocument(vscode.Uri.parse(uri, true));
      if (!vscode.languages.match(SELECTOR, document)) return [];
      const lenses = (await client.sendRequest(CodeLensRequest.type, { textDocument: { uri } })) ?? [];
      if (lenses.length === 0) return [];
      const kernels = lenses.map((lens) => {
        const { kernel, missing = "" } = lens.data as { kernel: string; missing?: string };
        return { name: kernel, line: lens.range.start.line, missing };
      });
      const params = { command: "kernelwright.history", arguments: [{ uri, quiet: true, texts: true }] };
      const steps: unknown = await client.sendRequest(ExecuteCommandRequest.type, params);
      return kernelNodes(uri, kernels, Array.isArray(steps) ? (steps as Step[]) : []);
    } catch (error) {
      this.log.warn(`Kernels of ${uri}: ${String(error)}`);
      return [];
    }
  }

  dispose(): void {
    clearTimeout(this.timer);
    for (const listener of this.listeners) listener.dispose();
  }

  private async roots(): Promise<Node[]> {
    const tabs = openTabs(); // a document may outlive its tab, and its file
    const open = vscode.workspace.textDocuments
      .filter((document) => document.uri.scheme === "file" && isRelevant(document.languageId, document.getText()))
      .map((document) => document.uri)
      .filter((uri) => tabs.has(uri.toString()));
    const found = await (this.files ??= kernelFiles());
    const uris = new Set([...open, ...found].map((uri) => uri.toString()));
    const paths = [...uris].sort((one, other) => one.localeCompare(other));
    return paths.map((uri) => ({ is: "file", uri }));
  }

  private soon(): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.changed.fire(undefined), PAUSE_MS);
  }
}

function openTabs(): ReadonlySet<string> {
  const inputs = vscode.window.tabGroups.all.flatMap((group) => group.tabs.map((tab) => tab.input));
  return new Set(inputs.flatMap((input) => (input instanceof vscode.TabInputText ? [input.uri.toString()] : [])));
}

function fileItem(text: string): vscode.TreeItem {
  const uri = vscode.Uri.parse(text, true);
  const active = vscode.window.visibleTextEditors.some((editor) => editor.document.uri.toString() === text);
  const state = active ? vscode.TreeItemCollapsibleState.Expanded : vscode.TreeItemCollapsibleState.Collapsed;
  const item = new vscode.TreeItem(vscode.workspace.asRelativePath(uri), state);
  item.id = `${text}${active ? "#open" : ""}`; // an id remembers whether the item is expanded; a file that is shown is
  item.resourceUri = uri;
  item.iconPath = vscode.ThemeIcon.File;
  item.contextValue = "file";
  return item;
}

function withLook(look: Look, parent: boolean): vscode.TreeItem {
  const { Expanded, None } = vscode.TreeItemCollapsibleState;
  const item = new vscode.TreeItem(look.label, parent ? Expanded : None);
  item.description = look.description;
  item.tooltip = look.tooltip;
  item.iconPath = new vscode.ThemeIcon(look.icon);
  item.contextValue = look.context;
  return item;
}

function reveal(kernel: KernelNode): vscode.Command {
  const place = new vscode.Range(kernel.line, 0, kernel.line, 0);
  return {
    command: "vscode.open",
    title: "Open",
    arguments: [vscode.Uri.parse(kernel.uri, true), { selection: place }],
  };
}
