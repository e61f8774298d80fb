/** Every command of the extension, by its id in package.json. */
import * as vscode from "vscode";
import type { App, Commands } from "../app";
import type { ProfileResult } from "../client/answers";
import { isDeclined } from "../client/answers";
import { setKey } from "../client/languageModels";
import { showLog } from "../logging/channels";
import { profilePage } from "../views/profilePage";
import { ask } from "./ask";
import { chooseModel } from "./chooseModel";
import { doctor } from "./doctor";
import { record } from "./record";
import { stepCommands } from "./steps";
import { applyStrategy } from "./strategies";
import { subject } from "./subject";
import { KERNEL_COMMANDS, PROFILE, type KernelCommand } from "./table";

export function commandsOf(app: App): Commands {
  const onEach = KERNEL_COMMANDS.map((one) => [one.id, (argument: unknown) => onKernel(app, one, argument)] as const);
  return {
    ...Object.fromEntries(onEach),
    ...stepCommands(app),
    "kernelwright.optimizePreview": (argument) => preview(app, argument),
    "kernelwright.apply": (argument) => applyStrategy(app, argument),
    "kernelwright.record": (argument) => record(app, argument),
    "kernelwright.profile": (argument) => profile(app, argument),
    "kernelwright.history": () => vscode.commands.executeCommand("kernelwright.kernels.focus"),
    "kernelwright.doctor": () => doctor(app),
    "kernelwright.chooseModel": () => chooseModel(),
    "kernelwright.setModelKey": () => setKey(app.context.secrets),
    "kernelwright.stop": () => stop(app),
    "kernelwright.restartServer": () => app.supervisor.restart(),
    "kernelwright.installServer": async () => app.supervisor.restart(await app.finder.make()),
    "kernelwright.openLogs": () => showLog(app.log),
    "kernelwright.openTrace": () => app.trace.show(),
  };
}

async function onKernel(app: App, command: KernelCommand, argument: unknown): Promise<unknown> {
  const about = await subject(argument);
  return about && ask(app, command, about);
}

async function preview(app: App, argument: unknown): Promise<unknown> {
  const about = await subject(argument);
  const optimize = KERNEL_COMMANDS[0];
  return about && optimize && ask(app, optimize, { ...about, preview: true });
}

async function profile(app: App, argument: unknown): Promise<unknown> {
  const about = await subject(argument);
  if (about === undefined) return undefined;
  const answer = await ask(app, PROFILE, { ...about, quiet: true });
  if (answer === undefined || answer === null || isDeclined(answer)) return answer;
  const name = about.kernel ?? "the kernel";
  await app.pages.show(`Profile of ${name}`, profilePage(name, answer as ProfileResult));
  return answer;
}

function stop(app: App): void {
  const running = app.jobs.running.length;
  app.jobs.stopAll();
  const said = running ? `stopping ${running === 1 ? "the running job" : `${running} jobs`}` : "no job is running";
  vscode.window.setStatusBarMessage(`Kernelwright: ${said}`, 5000);
}
