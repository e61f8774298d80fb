/**
 * Lenses that always do what they say. VS Code keeps a lens's arguments in a cache, and may go on showing the lens after it
 * has dropped them, until the next change of the text; a click then ends in "Actual command not found". A command without
 * arguments is not kept there, so each lens gets one of its own that has them built in.
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
