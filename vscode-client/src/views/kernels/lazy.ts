/** The kernels view before the extension is loaded: empty, and quick to be so. */
import * as vscode from "vscode";
import type { Loaded } from "../../app";
import type { Node } from "./model";

export function lazyTree(load: () => Promise<Loaded>): vscode.TreeDataProvider<Node> {
  const changed = new vscode.EventEmitter<Node | undefined>();
  let listening = false;
  const tree = async (): Promise<vscode.TreeDataProvider<Node>> => {
    const { kernels } = (await load()).app;
    if (!listening) kernels.onDidChangeTreeData((node) => changed.fire(node));
    listening = true;
    return kernels;
  };
  return {
    onDidChangeTreeData: changed.event,
    getChildren: async (node) => (await tree()).getChildren(node),
    getTreeItem: async (node) => (await tree()).getTreeItem(node),
  };
}
