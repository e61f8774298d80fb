/** The Test Explorer as a place to read verdicts: each job's checks are published there, and nothing is run from it. */
import * as vscode from "vscode";
import type { Jobs } from "../../client/jobs";
import type { KernelNode } from "../kernels/model";
import type { KernelsTree } from "../kernels/tree";
import { results } from "./model";

export class VerdictTests implements vscode.Disposable {
  private readonly controller = vscode.tests.createTestController("kernelwright", "Kernelwright");
  private readonly published = new Map<string, string>();
  private readonly listener: vscode.Disposable;

  constructor(
    private readonly kernels: KernelsTree,
    jobs: Jobs,
  ) {
    this.listener = jobs.onDidFinish(({ uri, command }) => {
      if (uri !== undefined && command !== "kernelwright.doctor") void this.publish(uri);
    });
  }

  dispose(): void {
    this.listener.dispose();
    this.controller.dispose();
  }

  private async publish(uri: string): Promise<void> {
    for (const kernel of await this.kernels.kernels(uri)) this.publishKernel(kernel);
  }

  /** A run of its own for each verdict that was not published yet. */
  private publishKernel(kernel: KernelNode): void {
    const key = `${kernel.uri}#${kernel.name}`;
    const found = results(kernel.steps);
    const state = JSON.stringify(found);
    if (found.length === 0 || this.published.get(key) === state) return;
    this.published.set(key, state);
    const where = vscode.Uri.parse(kernel.uri, true);
    const item = this.controller.createTestItem(key, kernel.name, where);
    item.range = new vscode.Range(kernel.line, 0, kernel.line, 0);
    const children = found.map(({ id, label }) => this.controller.createTestItem(`${key}/${id}`, label, where));
    for (const child of children) child.range = item.range;
    item.children.replace(children);
    this.controller.items.add(item);
    const run = this.controller.createTestRun(new vscode.TestRunRequest([item]), kernel.name, false);
    for (const [at, { passed, message }] of found.entries()) {
      const child = children[at];
      if (child === undefined) continue;
      run.appendOutput(`${child.label}: ${message}\r\n`, undefined, child);
      if (passed) run.passed(child);
      else run.failed(child, new vscode.TestMessage(message));
    }
    run.end();
  }
}
