/** The report's panels, one for each kernel, drawn anew when a job has ended. */
import { randomBytes } from "node:crypto";
import * as vscode from "vscode";
import type { KernelNode } from "../kernels/model";
import type { KernelsTree } from "../kernels/tree";
import { reportPage } from "./page";

export class Reports implements vscode.Disposable {
  private readonly panels = new Map<string, vscode.WebviewPanel>();
  private readonly listener: vscode.Disposable;

  constructor(private readonly kernels: KernelsTree) {
    this.listener = kernels.onDidChangeTreeData(() => this.refresh());
  }

  show(kernel: KernelNode): void {
    const key = `${kernel.uri}#${kernel.name}`;
    const open = this.panels.get(key);
    if (open !== undefined) {
      open.reveal();
      draw(open, kernel);
      return;
    }
    const panel = vscode.window.createWebviewPanel(
      "kernelwright.report",
      `Report: ${kernel.name}`,
      { viewColumn: vscode.ViewColumn.Beside, preserveFocus: true },
      { enableScripts: false, localResourceRoots: [] },
    );
    panel.onDidDispose(() => this.panels.delete(key));
    this.panels.set(key, panel);
    draw(panel, kernel);
  }

  dispose(): void {
    this.listener.dispose();
    for (const panel of this.panels.values()) panel.dispose();
  }

  private refresh(): void {
    for (const [key, panel] of this.panels) {
      if (!panel.visible) continue;
      const [uri, name] = split(key);
      void this.kernels.kernels(uri).then((found) => {
        const kernel = found.find((one) => one.name === name);
        if (kernel !== undefined && this.panels.has(key)) draw(panel, kernel);
      });
    }
  }
}

function draw(panel: vscode.WebviewPanel, kernel: KernelNode): void {
  const file = vscode.workspace.asRelativePath(vscode.Uri.parse(kernel.uri, true));
  panel.webview.html = reportPage(kernel, file, randomBytes(16).toString("hex"));
}

function split(key: string): [string, string] {
  const at = key.lastIndexOf("#");
  return [key.slice(0, at), key.slice(at + 1)];
}
