/** What can be done with a kernel or a step of the kernels view. */
import * as vscode from "vscode";
import type { App, Commands } from "../app";
import { figures, type KernelNode, type Node, type StepNode } from "../views/kernels/model";
import { ask } from "./ask";
import { EXPORT, KERNEL_COMMANDS, type KernelCommand } from "./table";

const named = (id: string): KernelCommand => KERNEL_COMMANDS.find((command) => command.id === id)!; // eslint-disable-line @typescript-eslint/no-non-null-assertion
const REVERT = named("kernelwright.revert");
const MEASURE = named("kernelwright.measure");

export function stepCommands(app: App): Commands {
  return {
    "kernelwright.showDiff": (node) => isStep(node) && showDiff(app, node),
    "kernelwright.revertToHere": (node) =>
      isStep(node) && node.next && revert(app, node.uri, node.step.kernel, node.next.id),
    "kernelwright.takeBack": (node) => isStep(node) && revert(app, node.uri, node.step.kernel, node.step.id),
    "kernelwright.revertToBaseline": (node) => isKernel(node) && toBaseline(app, node),
    "kernelwright.reverify": (node) => again(app, node),
    "kernelwright.copyNumbers": (node) => isStep(node) && vscode.env.clipboard.writeText(figures(node)),
    "kernelwright.export": (node) => isStep(node) && exportScript(app, node),
    "kernelwright.showReport": (node) => report(app, node),
    "kernelwright.refreshKernels": () => app.kernels.refresh(),
  };
}

async function showDiff(app: App, { step, number }: StepNode): Promise<void> {
  if (typeof step.before !== "string" || typeof step.after !== "string") {
    void vscode.window.showInformationMessage("The journal no longer has the texts of this step.");
    return;
  }
  const page = (side: string, text: string): vscode.Uri => app.pages.put(`${step.id}/${side} ${step.kernel}.py`, text);
  const title = `${step.kernel}, step ${number}: ${step.action.strategy}`;
  await vscode.commands.executeCommand("vscode.diff", page("before", step.before), page("after", step.after), title);
}

/** The step as a script, or a program of CUDA C++, that runs without Kernelwright: a page that the person saves where it is wanted. */
async function exportScript(app: App, { uri, step }: StepNode): Promise<void> {
  const { languageId } = await vscode.workspace.openTextDocument(vscode.Uri.parse(uri, true));
  const script = await ask(app, EXPORT, { uri, kernel: step.kernel, step: step.id });
  if (typeof script !== "string") return; // the server has said why
  const page = await vscode.workspace.openTextDocument({ language: languageId, content: script });
  await vscode.window.showTextDocument(page);
}

async function revert(app: App, uri: string, kernel: string, step: string): Promise<unknown> {
  await vscode.workspace.openTextDocument(vscode.Uri.parse(uri, true));
  return ask(app, REVERT, { uri, kernel, step });
}

function toBaseline(app: App, node: KernelNode): unknown {
  const first = node.steps.find((step) => step.outcome === "kept");
  return first && revert(app, node.uri, node.name, first.id);
}

async function again(app: App, node: unknown): Promise<unknown> {
  const about = isStep(node)
    ? { uri: node.uri, kernel: node.step.kernel }
    : isKernel(node)
      ? { uri: node.uri, kernel: node.name }
      : undefined;
  if (about === undefined) return undefined;
  await vscode.workspace.openTextDocument(vscode.Uri.parse(about.uri, true));
  return ask(app, MEASURE, about);
}

/** Of the kernel in the view, or of the one at the cursor: the last that begins above it. */
async function report(app: App, node: unknown): Promise<void> {
  const kernel = isKernel(node) ? node : await atCursor(app);
  if (kernel !== undefined) app.reports.show(kernel);
  else void vscode.window.showInformationMessage("There is no kernel at the cursor.");
}

async function atCursor(app: App): Promise<KernelNode | undefined> {
  const editor = vscode.window.activeTextEditor;
  if (editor === undefined || (await app.supervisor.ensure()) === undefined) return undefined;
  const kernels = await app.kernels.kernels(editor.document.uri.toString());
  return kernels.findLast((kernel) => kernel.line <= editor.selection.active.line) ?? kernels[0];
}

function isStep(node: unknown): node is StepNode {
  return (node as Node | undefined)?.is === "step";
}

function isKernel(node: unknown): node is KernelNode {
  return (node as Node | undefined)?.is === "kernel";
}
