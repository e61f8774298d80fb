/** Runs a server's command as a job that a person waits for: progress in words after half a second, and a cancel. */
import { randomUUID } from "node:crypto";
import * as vscode from "vscode";
import {
  ExecuteCommandRequest,
  WorkDoneProgress,
  WorkDoneProgressCancelNotification,
  type LanguageClient,
} from "vscode-languageclient/node";
import type { Subject } from "../commands/table";

const PATIENCE_MS = 500; // a shorter job shows no progress

export interface Job {
  readonly title: string;
  readonly stage: string;
  readonly cancel: () => void;
}

/** What `kernelwright.tool` is asked. */
export interface ToolCall {
  readonly name: string;
  readonly arguments: object;
}

export interface Finished {
  readonly command: string;
  readonly uri: string | undefined;
}

export class Jobs implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<void>();
  readonly onDidChange = this.changed.event;
  private readonly finished = new vscode.EventEmitter<Finished>();
  readonly onDidFinish = this.finished.event;
  private readonly jobs = new Map<string, Job>();

  get running(): readonly Job[] {
    return [...this.jobs.values()];
  }

  stopAll(): void {
    for (const job of this.jobs.values()) job.cancel();
  }

  /**
   * The server's answer. Rejects when the server ends meanwhile. The job ends with its progress: what comes between that and
   * the answer, such as a preview or a question, waits for the person; if they want the step again, it begins anew.
   * `stop`: cancels it, too.
   */
  async run(
    client: LanguageClient,
    command: string,
    argument: Partial<Subject> | ToolCall,
    title: string,
    stop?: vscode.CancellationToken,
  ): Promise<unknown> {
    const token = randomUUID();
    const cancel = (): void => {
      void client.sendNotification(WorkDoneProgressCancelNotification.type, { token });
    };
    const stages = new vscode.EventEmitter<string>();
    let hide: (() => void) | undefined;
    const put = (stage: string): void => {
      hide ??= this.show(title, token, stages.event, cancel);
      this.jobs.set(token, { title, stage, cancel });
      this.changed.fire();
      if (stage) stages.fire(stage);
    };
    const end = (): void => {
      hide?.();
      hide = undefined;
      this.jobs.delete(token);
      this.changed.fire();
    };
    const progress = client.onProgress(WorkDoneProgress.type, token, (value) => {
      if (value.kind === "end") end();
      else if (value.message || hide === undefined) put(value.message ?? "");
    });
    put("");
    const stopping = stop?.onCancellationRequested(cancel);
    const params = { command, arguments: [argument], workDoneToken: token };
    try {
      return await client.sendRequest(ExecuteCommandRequest.type, params);
    } finally {
      stopping?.dispose();
      progress.dispose();
      end();
      stages.dispose();
      this.finished.fire({ command, uri: "uri" in argument ? argument.uri : undefined });
    }
  }

  dispose(): void {
    this.changed.dispose();
    this.finished.dispose();
  }

  /** The progress of a job that lasts; the answer hides it. */
  private show(title: string, token: string, stages: vscode.Event<string>, cancel: () => void): () => void {
    let ended = (): void => undefined;
    const end = new Promise<void>((resolve) => (ended = resolve));
    const location = vscode.ProgressLocation.Notification;
    const later = setTimeout(() => {
      void vscode.window.withProgress({ location, title, cancellable: true }, async (progress, cancelled) => {
        const stage = this.jobs.get(token)?.stage;
        if (stage) progress.report({ message: stage });
        const listening = stages((message) => progress.report({ message }));
        cancelled.onCancellationRequested(() => {
          progress.report({ message: "Cancelling" });
          cancel();
        });
        await end;
        listening.dispose();
      });
    }, PATIENCE_MS);
    return () => {
      clearTimeout(later);
      ended();
    };
  }
}
