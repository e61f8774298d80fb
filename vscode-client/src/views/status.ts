/** The language status items: the server with its jobs, the device, and the model in use. */
import * as vscode from "vscode";
import type { App } from "../app";
import type { DoctorLine } from "../client/answers";
import { toolchain } from "../commands/doctor";
import { deviceWords, modelWords, serverWords, type Words } from "./statusText";

const SELECTOR = [{ language: "python" }, { language: "cuda-cpp" }];

export function statusItems(app: App): vscode.Disposable[] {
  const server = vscode.languages.createLanguageStatusItem("kernelwright.server", SELECTOR);
  const device = vscode.languages.createLanguageStatusItem("kernelwright.device", SELECTOR);
  const model = vscode.languages.createLanguageStatusItem("kernelwright.model", SELECTOR);
  server.name = "Kernelwright";
  device.name = "Kernelwright device";
  model.name = "Kernelwright language model";
  device.command = { command: "kernelwright.doctor", title: "Doctor" };
  let gpu: DoctorLine | undefined;
  let asking = false;
  let running = false;
  const show = (): void => {
    const { state } = app.supervisor;
    if (app.jobs.running.length > 0 !== running) {
      running = !running;
      void vscode.commands.executeCommand("setContext", "kernelwright.running", running); // for the button that stops them
    }
    say(server, serverWords(state, app.jobs.running));
    say(device, deviceWords(gpu));
    const missing = state.is === "missing";
    server.command = missing
      ? { command: "kernelwright.installServer", title: "Install server" }
      : { command: "kernelwright.openLogs", title: "Open logs" };
  };
  const jobEnded = async (): Promise<void> => {
    show();
    // The worker is warm once a job has run, so the question costs nothing then.
    if (gpu !== undefined || asking || app.jobs.running.length > 0) return;
    asking = true;
    gpu = (await toolchain(app))?.find((line) => line.name === "GPU");
    asking = false;
    show();
  };
  show();
  say(model, modelWords);
  return [server, device, model, app.supervisor.onDidChange(show), app.jobs.onDidChange(() => void jobEnded())];
}

function say(item: vscode.LanguageStatusItem, words: Words): void {
  const severities = {
    information: vscode.LanguageStatusSeverity.Information,
    warning: vscode.LanguageStatusSeverity.Warning,
    error: vscode.LanguageStatusSeverity.Error,
  };
  item.text = words.text;
  item.detail = words.detail;
  item.severity = severities[words.severity];
  item.busy = words.busy;
}
