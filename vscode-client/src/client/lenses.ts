/**
 * Lenses that always do what they say. VS Code may go on showing a lens whose arguments it no longer knows: a click then ends
 * in "Actual command not found", again and again (seen for minutes). So each lens gets a command of its own that needs none.
 */
import type { CodeLens, Disposable } from "vscode";

export type Register = (id: string, run: () => unknown) => Disposable;
export type Execute = (command: string, ...rest: readonly unknown[]) => unknown;

export class LensCommands implements Disposable {
  private readonly ids = new Map<string, string>();
  private readonly registered: Disposable[] = [];

  constructor(
    private readonly register: Register,
    private readonly execute: Execute,
  ) {}

  /** The same lens, with a command that needs no arguments; one command for as many lenses as ask for the same. */
  direct<Lens extends Pick<CodeLens, "command">>(lens: Lens): Lens {
    const { command } = lens;
    if (!command?.arguments?.length) return lens;
    const wanted = command.command;
    const rest = command.arguments as readonly unknown[];
    const key = JSON.stringify([wanted, rest]);
    const known = this.ids.get(key);
    const id = known ?? `kernelwright.lens.${this.ids.size}`;
    if (known === undefined) {
      this.ids.set(key, id);
      this.registered.push(this.register(id, () => this.execute(wanted, ...rest)));
    }
    lens.command = { title: command.title, command: id };
    return lens;
  }

  dispose(): void {
    for (const command of this.registered) command.dispose();
  }
}
