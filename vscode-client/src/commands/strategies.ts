/** "Apply Strategy": the server's menu for the kernel at the cursor, with the reason beside what does not apply. */
import * as vscode from "vscode";
import { CodeActionRequest, type CodeAction } from "vscode-languageclient/node";
import type { App } from "../app";
import { ask } from "./ask";
import { offered, type Offer } from "./offers";
import { subject } from "./subject";
import { APPLY, type Subject } from "./table";

const KIND = "refactor.rewrite.optimizeKernel";

export async function applyStrategy(app: App, argument: unknown): Promise<unknown> {
  const about = await subject(argument);
  if (about === undefined) return undefined;
  if (about.strategy !== undefined) return ask(app, APPLY, about);
  const offers = await menu(app, about);
  if (offers === undefined) return undefined;
  const chosen = await choose(offers);
  return chosen && ask(app, APPLY, { uri: about.uri, ...chosen });
}

async function menu(app: App, about: Subject): Promise<readonly Offer[] | undefined> {
  const client = await app.supervisor.ensure();
  if (client === undefined) return undefined;
  const position = { line: about.line ?? 0, character: 0 };
  const answer = await client.sendRequest(CodeActionRequest.type, {
    textDocument: { uri: about.uri },
    range: { start: position, end: position },
    context: { diagnostics: [], only: [KIND] },
  });
  const offers = offered((answer ?? []) as readonly CodeAction[]);
  if (offers.length > 0) return offers;
  void vscode.window.showInformationMessage("There is no kernel at the cursor.");
  return undefined;
}

async function choose(offers: readonly Offer[]): Promise<Offer["argument"]> {
  const items = offers.map((offer) => ({
    label: `${offer.argument ? (offer.best ? "$(star-full)" : "$(wand)") : "$(circle-slash)"} ${offer.title}`,
    description: offer.strategy,
    detail: offer.reason,
    offer,
  }));
  const placeHolder = "The strategy of the next step";
  const picked = await vscode.window.showQuickPick(items, {
    placeHolder,
    matchOnDescription: true,
    matchOnDetail: true,
  });
  if (picked && picked.offer.argument === undefined) {
    void vscode.window.showInformationMessage(`${picked.offer.title} does not apply here: ${picked.offer.reason}`);
  }
  return picked?.offer.argument;
}
