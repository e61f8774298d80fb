/** Starts the server when it is first needed, starts it again when it crashes, and says what state it is in. */
import * as vscode from "vscode";
import type { LanguageClient } from "vscode-languageclient/node";
import type { Launch, Located } from "../environment/candidates";
import type { ServerFinder } from "../environment/server";
import { backoff } from "./backoff";
import { connection, type Surroundings } from "./connection";
import { serveLanguageModels } from "./languageModels";
import type { ServerState } from "./state";

export class Supervisor implements vscode.Disposable {
  private readonly changed = new vscode.EventEmitter<ServerState>();
  readonly onDidChange = this.changed.event;
  private current: ServerState = { is: "idle" };
  private client: LanguageClient | undefined;
  private starting: Promise<LanguageClient | undefined> | undefined;
  private waiting: NodeJS.Timeout | undefined;
  private crashes = backoff();
  private generation = 0; // a start that was overtaken by a stop or another start must not be acted on

  constructor(
    private readonly finder: ServerFinder,
    private readonly around: Surroundings,
  ) {}

  get state(): ServerState {
    return this.current;
  }

  /** The running client, without starting one. */
  get running(): LanguageClient | undefined {
    return this.current.is === "running" ? this.client : undefined;
  }

  /** The running client, started if need be; undefined when there is no server to start, which was then said. */
  ensure(): Promise<LanguageClient | undefined> {
    if (this.current.is === "running") return Promise.resolve(this.client);
    return this.starting ?? this.begin(this.start(this.finder.find()));
  }

  async restart(located?: Located): Promise<void> {
    await this.stop();
    this.crashes = backoff();
    const found = located ? Promise.resolve(located) : this.finder.find();
    await this.begin(this.start(found));
  }

  async stop(): Promise<void> {
    this.generation += 1;
    clearTimeout(this.waiting);
    const { client } = this;
    this.client = undefined;
    this.set({ is: "stopped" });
    if (client?.needsStop()) await client.stop(2000).catch((error: unknown) => this.around.log.warn(String(error)));
    await client?.dispose().catch(() => undefined);
  }

  dispose(): Promise<void> {
    const stopped = this.stop();
    this.changed.dispose();
    return stopped;
  }

  /** Remembers a start under way, so that whoever needs the server waits for it instead of starting another. */
  private begin(start: Promise<LanguageClient | undefined>): Promise<LanguageClient | undefined> {
    const mine = start.finally(() => {
      if (this.starting === mine) this.starting = undefined;
    });
    this.starting = mine;
    return mine;
  }

  private async start(finding: Promise<Located>): Promise<LanguageClient | undefined> {
    const generation = ++this.generation;
    this.set({ is: "looking" });
    let located = await finding;
    if (generation !== this.generation) return undefined;
    if (located.launch === undefined) {
      this.set({ is: "missing" });
      located = await this.finder.offer();
    }
    if (generation !== this.generation) return undefined;
    if (located.launch === undefined) {
      this.set({ is: "missing" });
      return undefined;
    }
    return this.connect(located.launch, located.interpreter, generation);
  }

  private async connect(
    launch: Launch,
    interpreter: string | undefined,
    generation: number,
  ): Promise<LanguageClient | undefined> {
    this.set({ is: "starting" });
    this.around.log.info(`Starting ${launch.command} ${launch.args.join(" ")}`);
    const onClosed = (): void => {
      if (generation === this.generation) this.ended(launch, interpreter);
    };
    const client = connection(launch, interpreter, this.around, onClosed);
    try {
      await client.start();
    } catch (error) {
      this.around.log.error(String(error));
      if (generation === this.generation) this.failed("The server did not start; the log says why.");
      return undefined;
    }
    if (generation !== this.generation) {
      await client.dispose().catch(() => undefined);
      return undefined;
    }
    this.client = client;
    serveLanguageModels(client, this.around.secrets);
    this.set({ is: "running", version: client.initializeResult?.serverInfo?.version ?? launch.version });
    return client;
  }

  /** The process ended although nobody asked it to. */
  private ended(launch: Launch, interpreter: string | undefined): void {
    if (this.current.is !== "running") return; // an end while starting is told by `start`
    void this.client?.dispose().catch(() => undefined);
    this.client = undefined;
    const wait = this.crashes.next(Date.now());
    if (wait === undefined) {
      this.failed("The server keeps ending unexpectedly; it is not started again.");
      return;
    }
    this.around.log.warn(`The server ended unexpectedly; starting it again in ${wait / 1000} s.`);
    const generation = ++this.generation;
    this.set({ is: "restarting", seconds: wait / 1000 });
    this.waiting = setTimeout(() => {
      if (generation !== this.generation) return;
      void this.begin(this.connect(launch, interpreter, generation));
    }, wait);
  }

  private failed(reason: string): void {
    this.client = undefined;
    this.set({ is: "failed", reason });
    this.around.log.error(reason);
    const [restart, logs, doctor] = ["Restart", "Open Logs", "Doctor"];
    void vscode.window.showErrorMessage(`Kernelwright: ${reason}`, restart, logs, doctor).then((answer) => {
      if (answer === restart) void this.restart();
      if (answer === logs) this.around.log.show();
      if (answer === doctor) void vscode.commands.executeCommand("kernelwright.doctor");
    });
  }

  private set(state: ServerState): void {
    this.current = state;
    this.changed.fire(state);
  }
}
