/** Which kernel a command is about: what it was called with, completed from the editor. */
import * as vscode from "vscode";
import { given, type Subject } from "./table";

const LANGUAGES = ["python", "cuda-cpp"];

/** Undefined, and said so, when there is no file that could have a kernel. The file is open afterwards. */
export async function subject(argument: unknown): Promise<Subject | undefined> {
  const asked = given(argument);
  const editor = vscode.window.activeTextEditor;
  if (asked.uri !== undefined) {
    const uri = vscode.Uri.parse(asked.uri, true);
    await vscode.workspace.openTextDocument(uri); // the server works on open files only
    const here = editor?.document.uri.toString() === uri.toString();
    const line = asked.kernel === undefined && here ? { line: editor.selection.active.line } : {};
    return { ...line, ...asked, uri: asked.uri };
  }
  if (editor === undefined || !LANGUAGES.includes(editor.document.languageId)) {
    void vscode.window.showInformationMessage("Open a Python or CUDA file and put the cursor into a kernel first.");
    return undefined;
  }
  return { line: editor.selection.active.line, ...asked, uri: editor.document.uri.toString() };
}
