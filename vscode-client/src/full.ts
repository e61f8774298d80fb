/** The whole extension, loaded with the first file or command that needs it. */
import * as vscode from "vscode";
import { callTool } from "./agents/call";
import { serversForAgents } from "./agents/find";
import type { App, Loaded } from "./app";
import { Jobs } from "./client/jobs";
import { LensCommands } from "./client/lenses";
import { Supervisor } from "./client/supervisor";
import { commandsOf } from "./commands/register";
import { onDidSelectInterpreter } from "./environment/interpreter";
import { ServerFinder } from "./environment/server";
import { logChannel, TraceChannel } from "./logging/channels";
import { SECTION } from "./settings";
import { KernelsTree } from "./views/kernels/tree";
import { Pages } from "./views/pages";
import { Reports } from "./views/report/panel";
import { statusItems } from "./views/status";
import { VerdictTests } from "./views/tests/controller";

/** `onServer`: called with every server that runs. */
export function start(context: vscode.ExtensionContext, onServer: () => void): Loaded {
  const log = logChannel();
  const trace = new TraceChannel();
  const lenses = new LensCommands(vscode.commands.registerCommand, vscode.commands.executeCommand);
  const finder = new ServerFinder(context, log);
  const supervisor = new Supervisor(finder, { log, trace, lenses, secrets: context.secrets });
  const jobs = new Jobs();
  const kernels = new KernelsTree(supervisor, jobs, log);
  const reports = new Reports(kernels);
  const app: App = { context, log, trace, finder, supervisor, jobs, pages: new Pages(), kernels, reports };
  context.subscriptions.push(
    log,
    trace,
    lenses,
    app.pages,
    jobs,
    supervisor,
    kernels,
    reports,
    new VerdictTests(kernels, jobs),
    ...statusItems(app),
  );
  watch(app);
  context.subscriptions.push(supervisor.onDidChange(({ is }) => is === "running" && onServer()));
  return {
    app,
    commands: commandsOf(app),
    serversForAgents: () => serversForAgents(app),
    callTool: (tool, input, token) => callTool(app, tool, input, token),
  };
}

/** A running server is replaced when what decided on it has changed. */
function watch(app: App): void {
  const again = (why: string): void => {
    if (app.supervisor.state.is === "idle") return;
    app.log.info(`${why}; looking for the server again.`);
    void app.supervisor.restart();
  };
  app.context.subscriptions.push(
    vscode.workspace.onDidChangeConfiguration((event) => {
      if (event.affectsConfiguration(`${SECTION}.server.path`)) again("The server's path was changed");
    }),
    vscode.workspace.onDidGrantWorkspaceTrust(() => again("The workspace is trusted now")),
  );
  void onDidSelectInterpreter(() => again("Another interpreter was selected")).then((listeners) =>
    app.context.subscriptions.push(...listeners),
  );
}
