/** What "Choose the Language Model" offers: VS Code's own models, and the other ways with a word each. */

/** A model of VS Code's, as far as a list tells of it. */
export interface Known {
  readonly id: string;
  readonly name: string;
  readonly vendor: string;
}

/** What is still to be asked before there is a value of the setting. */
export type Asks = "name" | "folder" | "file";

export interface Choice {
  readonly label: string;
  readonly description: string;
  /** The setting's value; with `asks`, what it begins with. */
  readonly value: string;
  readonly asks?: Asks;
}

const OTHERS: readonly Choice[] = [
  { label: "None", description: "rules alone", value: "" },
  { label: "A hosted model or a local server…", description: "by LiteLLM's name", value: "litellm:", asks: "name" },
  { label: "Answers written by hand…", description: "in a folder", value: "dir:", asks: "folder" },
  { label: "Recorded answers…", description: "from a file", value: "replay:", asks: "file" },
];

/** The choices, VS Code's own models first; the one that `current` names has a mark. */
export function modelChoices(known: readonly Known[], current: string): Choice[] {
  const own = known.map(({ id, name, vendor }) => ({
    label: name || id,
    description: `VS Code's, by ${vendor}`,
    value: `editor:${id}`,
  }));
  const first: Choice[] =
    own.length > 0 ? [{ label: "VS Code's first model", description: "whichever it has", value: "editor" }] : [];
  return [...own, ...first, ...OTHERS].map((one) => (isChosen(one, current) ? marked(one) : one));
}

function isChosen({ value, asks }: Choice, current: string): boolean {
  return asks === undefined ? value === current : current.startsWith(value);
}

function marked(choice: Choice): Choice {
  return { ...choice, label: `$(check) ${choice.label}` };
}
