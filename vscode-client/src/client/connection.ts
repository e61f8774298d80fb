/** One connection to a server process: what the client library is told, and the few places where it is overruled. */
import * as vscode from "vscode";
import {
  CloseAction,
  ErrorAction,
  ExecuteCommandRequest,
  LanguageClient,
  LogMessageNotification,
  MessageType,
  ShowMessageNotification,
  type DynamicFeature,
  type LanguageClientOptions,
  type StaticFeature,
} from "vscode-languageclient/node";
import type { Launch } from "../environment/candidates";
import { SECTION } from "../settings";
import { languageModelFeature } from "./languageModels";
import type { LensCommands } from "./lenses";
import { middleware } from "./middleware";

export const SELECTOR = ["python", "cuda-cpp"].map((language) => ({ scheme: "file", language }));

/** What outlives a connection and is handed to each. */
export interface Surroundings {
  readonly log: vscode.LogOutputChannel;
  readonly trace: vscode.LogOutputChannel;
  readonly lenses: LensCommands;
  readonly secrets: vscode.SecretStorage;
}

/** Commands carry a progress token and a cancel here, so the library's own registration of them is left out. */
class Connection extends LanguageClient {
  override registerFeature(feature: StaticFeature | DynamicFeature<unknown>): void {
    if ("registrationType" in feature && feature.registrationType.method === ExecuteCommandRequest.method) return;
    super.registerFeature(feature);
  }

  /** The library's own notifications speak of connections and pending responses; the supervisor says what is wrong. */
  override error(message: string, data?: unknown): void {
    super.error(message, data, false);
  }
}

export function connection(
  launch: Launch,
  interpreter: string | undefined,
  around: Surroundings,
  onClosed: () => void,
): LanguageClient {
  const options: LanguageClientOptions = {
    documentSelector: SELECTOR,
    outputChannel: around.log,
    traceOutputChannel: around.trace,
    diagnosticCollectionName: SECTION,
    middleware: middleware(launch, interpreter, around.lenses),
    errorHandler: {
      error: () => ({ action: ErrorAction.Continue, handled: true }),
      closed: () => {
        onClosed();
        return { action: CloseAction.DoNotRestart, handled: true };
      },
    },
    initializationFailedHandler: () => false,
  };
  const server = {
    command: launch.command,
    args: [...launch.args],
    options: { env: { ...process.env, PYTHONUTF8: "1", PYTHONUNBUFFERED: "1" } },
  };
  const client = new Connection(SECTION, "Kernelwright", { run: server, debug: server }, options);
  client.registerFeature(languageModelFeature);
  client.onNotification(ShowMessageNotification.type, ({ type, message }) => show(around.log, type, message));
  client.onNotification(LogMessageNotification.type, ({ type, message }) => write(around.log, type, message));
  return client;
}

/** A notification is for what needs a person; the rest is said in the status bar and kept in the log. */
function show(log: vscode.LogOutputChannel, type: MessageType, message: string): void {
  write(log, type, message);
  if (type !== MessageType.Error && type !== MessageType.Warning) {
    vscode.window.setStatusBarMessage(`Kernelwright: ${message.split("\n")[0]}`, 8000);
    return;
  }
  const logs = "Open Logs";
  const shown =
    type === MessageType.Error
      ? vscode.window.showErrorMessage(message, logs)
      : vscode.window.showWarningMessage(message, logs);
  void shown.then((answer) => answer === logs && log.show());
}

function write(log: vscode.LogOutputChannel, type: MessageType, message: string): void {
  if (type === MessageType.Error) log.error(message);
  else if (type === MessageType.Warning) log.warn(message);
  else if (type === MessageType.Info) log.info(message);
  else log.debug(message);
}
