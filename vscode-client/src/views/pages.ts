/** Pages made of words, shown as rendered Markdown: the doctor's, a profile's. They are documents without a file. */
import * as vscode from "vscode";

const SCHEME = "kernelwright";

export class Pages implements vscode.TextDocumentContentProvider, vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<vscode.Uri>();
  readonly onDidChange = this.changed.event;
  private readonly contents = new Map<string, string>();
  private readonly registration = vscode.workspace.registerTextDocumentContentProvider(SCHEME, this);

  provideTextDocumentContent(uri: vscode.Uri): string {
    return this.contents.get(uri.path) ?? "";
  }

  put(name: string, text: string): vscode.Uri {
    const uri = vscode.Uri.from({ scheme: SCHEME, path: `/${name}` });
    this.contents.set(uri.path, text);
    this.changed.fire(uri);
    return uri;
  }

  /** Where the Markdown extension is switched off the page is shown as text. */
  async show(name: string, markdown: string): Promise<void> {
    const uri = this.put(`${name}.md`, markdown);
    try {
      await vscode.commands.executeCommand("markdown.showPreview", uri);
    } catch {
      await vscode.window.showTextDocument(uri, { preview: true });
    }
  }

  dispose(): void {
    this.registration.dispose();
    this.changed.dispose();
  }
}
