/** The server for this window: found, or made once the person has agreed. */
import os from "node:os";
import path from "node:path";
import * as vscode from "vscode";
import { pathSetting } from "../settings";
import { shortened, type Located } from "./candidates";
import { selectedInterpreter, systemInterpreter } from "./interpreter";
import { locate } from "./locate";
import { bundledWheel, makeManaged, managedPython, type Managed } from "./managed";
import { probe } from "./probe";

const CONSENT = "kernelwright.managedEnvironment";
const MAKE = "Create Environment";
const CHOOSE = "Select Interpreter";

export class ServerFinder {
  /** What the last search looked at. */
  located: Located = { looks: [] };
  private declined = false;

  constructor(
    private readonly context: vscode.ExtensionContext,
    private readonly log: vscode.LogOutputChannel,
  ) {}

  async find(): Promise<Located> {
    const trusted = vscode.workspace.isTrusted;
    const active = vscode.window.activeTextEditor?.document.uri;
    const resource = active?.scheme === "file" ? active : undefined; // the log is an editor too, but of no folder
    const interpreter = trusted ? await selectedInterpreter(resource) : undefined;
    const managed = await this.managed();
    this.located = await locate({ setting: pathSetting("server.path"), interpreter, managed, trusted });
    for (const { source, where, detail } of this.located.looks) this.log.info(`${source}: ${where || "-"}: ${detail}`);
    return this.located;
  }

  /** Asks once; makes the environment if the person agrees, now or in an earlier version. */
  async offer(): Promise<Located> {
    const wrong = this.located.looks.find((look) => look.source === "setting" && !look.found);
    if (wrong !== undefined) {
      void vscode.window.showErrorMessage(
        `There is no server at kernelwright.server.path. ${wrong.where}: ${wrong.detail}`,
      );
      return this.located;
    }
    if ((await this.managed()) === undefined) return this.located;
    if (!this.context.globalState.get<boolean>(CONSENT) && !(await this.agreed())) return this.located;
    return this.make();
  }

  /** Makes the environment; what fails is told with the log at hand. */
  async make(): Promise<Located> {
    const managed = await this.managed();
    if (managed === undefined) {
      void vscode.window.showErrorMessage("This build of Kernelwright carries no server; install it with pip instead.");
      return this.located;
    }
    await this.context.globalState.update(CONSENT, true);
    const base = this.located.interpreter ?? systemInterpreter();
    if (base === undefined) {
      void vscode.window.showErrorMessage("There is no Python 3.11 or newer to make Kernelwright's environment with.");
      return this.located;
    }
    const failed = await this.made(managed, base);
    if (failed !== undefined) {
      this.log.error(failed);
      const logs = "Open Logs";
      const [said] = failed.split("\n");
      if ((await vscode.window.showErrorMessage(said ?? failed, logs)) === logs) this.log.show();
    }
    return this.find();
  }

  private async made(managed: Managed, base: string): Promise<string | undefined> {
    if ((await managedPython(managed)) !== undefined) return undefined;
    const usable = await probe(base);
    if (typeof usable === "string") return usable;
    const title = "Kernelwright: creating the server's environment";
    const location = vscode.ProgressLocation.Notification;
    return vscode.window.withProgress({ location, title, cancellable: true }, async (progress, token) => {
      const abort = new AbortController();
      token.onCancellationRequested(() => abort.abort());
      const onLine = (line: string): void => {
        this.log.info(line);
        progress.report({ message: line.slice(0, 60) });
      };
      const made = await makeManaged(managed, base, { signal: abort.signal, onLine });
      if (token.isCancellationRequested) return undefined;
      return "reason" in made ? made.reason : undefined;
    });
  }

  private async agreed(): Promise<boolean> {
    if (this.declined) return false;
    this.declined = true;
    const python = this.located.interpreter && shortened(this.located.interpreter, os.homedir());
    const lacking = python ? `Kernelwright is not installed in ${python}.` : "No Python interpreter is selected.";
    const question = `${lacking} Create an environment of its own for its server? It is made from the wheel in this extension; its dependencies are downloaded from your package index.`;
    const answer = await vscode.window.showInformationMessage(question, MAKE, CHOOSE, "Not Now");
    if (answer === CHOOSE) {
      const known = await vscode.commands.getCommands(true);
      const select = known.find((id) => id === "python-envs.set" || id === "python.setInterpreter");
      await vscode.commands.executeCommand(
        ...((select ? [select] : ["workbench.action.openSettings", "kernelwright.server.path"]) as [string]),
      );
    }
    return answer === MAKE;
  }

  private async managed(): Promise<Managed | undefined> {
    const wheel = await bundledWheel(this.context.extensionPath);
    const folder = path.join(this.context.globalStorageUri.fsPath, "server");
    return wheel === undefined ? undefined : { folder, wheel };
  }
}
