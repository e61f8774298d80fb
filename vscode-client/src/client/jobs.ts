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

  /** The server's answer. Rejects when the server ends meanwhile. */
  async run(client: LanguageClient, command: string, argument: Partial<Subject>, title: string): Promise<unknown> {
    const token = randomUUID();
    const cancel = (): void => {
      void client.sendNotification(WorkDoneProgressCancelNotification.type, { token });
    };
    const stages = new vscode.EventEmitter<string>();
    const put = (stage: string): void => {
      this.jobs.set(token, { title, stage, cancel });
      this.changed.fire();
    };
    const progress = client.onProgress(WorkDoneProgress.type, token, (value) => {
      if (value.kind === "end" || !value.message) return;
      put(value.message);
      stages.fire(value.message);
    });
    put("");
    const params = { command, arguments: [argument], workDoneToken: token };
    const answer = client.sendRequest(ExecuteCommandRequest.type, params);
    const shown = setTimeout(() => this.show(title, token, stages.event, cancel, answer), PATIENCE_MS);
    try {
      return await answer;
    } finally {
      clearTimeout(shown);
      progress.dispose();
      stages.dispose();
      this.jobs.delete(token);
      this.changed.fire();
      this.finished.fire({ command, uri: argument.uri });
    }
  }

  dispose(): void {
    this.changed.dispose();
    this.finished.dispose();
  }

  private show(
    title: string,
    token: string,
    stages: vscode.Event<string>,
    cancel: () => void,
    answer: Promise<unknown>,
  ): void {
    const location = vscode.ProgressLocation.Notification;
    void vscode.window.withProgress({ location, title, cancellable: true }, async (progress, cancelled) => {
      const stage = this.jobs.get(token)?.stage;
      if (stage) progress.report({ message: stage });
      stages((message) => progress.report({ message }));
      cancelled.onCancellationRequested(() => {
        progress.report({ message: "Cancelling" });
        cancel();
      });
      await answer.catch(() => undefined);
    });
  }
}
