/** The editor's language models for the server, which asks for them where the setting `model` says "editor". */
import * as vscode from "vscode";
import type { LanguageClient, StaticFeature } from "vscode-languageclient/node";

const COMPLETE = "kernelwright/lm/complete";
const PART = "kernelwright/lm/part";
const CANCEL = "kernelwright/lm/cancel";
const KEY = "kernelwright/lm/key";
const SECRET = "kernelwright.modelKey";
const JUSTIFICATION = "Kernelwright asks for one edit of the kernel that you optimize.";

interface Asked {
  readonly id: string;
  readonly model: string;
  readonly messages: readonly { readonly role: "system" | "user" | "assistant"; readonly text: string }[];
}

interface Answer {
  readonly text: string;
  readonly model: string;
}

/** Says to the server that it may ask. */
export const languageModelFeature: StaticFeature = {
  fillClientCapabilities: (capabilities) => {
    capabilities.experimental = { ...(capabilities.experimental as object), kernelwrightLanguageModels: true };
  },
  initialize: () => undefined,
  getState: () => ({ kind: "static" }),
  clear: () => undefined,
};

/** Answers the server's questions on this connection, and tells it the key that is kept for it. */
export function serveLanguageModels(client: LanguageClient, secrets: vscode.SecretStorage): vscode.Disposable {
  const running = new Map<string, vscode.CancellationTokenSource>();
  const tell = async (): Promise<void> => client.sendNotification(KEY, { key: (await secrets.get(SECRET)) ?? "" });
  void tell();
  return vscode.Disposable.from(
    client.onNotification(CANCEL, ({ id }: { id: string }) => running.get(id)?.cancel()),
    client.onRequest(COMPLETE, async (asked: Asked): Promise<Answer> => {
      const source = new vscode.CancellationTokenSource();
      running.set(asked.id, source);
      try {
        return await complete(asked, source.token, (text) => {
          void client.sendNotification(PART, { id: asked.id, text });
        });
      } finally {
        running.delete(asked.id);
        source.dispose();
      }
    }),
    secrets.onDidChange(({ key }) => {
      if (key === SECRET) void tell();
    }),
    { dispose: () => running.forEach((source) => source.cancel()) },
  );
}

/** "Set the Language Model's Key": kept in the editor's secret storage, never in settings. */
export async function setKey(secrets: vscode.SecretStorage): Promise<void> {
  const key = await vscode.window.showInputBox({
    title: "Key of the language model",
    prompt: "Kept in VS Code's secret storage. Leave it empty to remove the key.",
    password: true,
    ignoreFocusOut: true,
  });
  if (key === undefined) return;
  await (key === "" ? secrets.delete(SECRET) : secrets.store(SECRET, key));
}

async function complete(asked: Asked, token: vscode.CancellationToken, part: (text: string) => void): Promise<Answer> {
  const chosen = await choose(asked.model);
  const messages = asked.messages.map(({ role, text }) =>
    role === "assistant" ? vscode.LanguageModelChatMessage.Assistant(text) : vscode.LanguageModelChatMessage.User(text),
  );
  const response = await chosen.sendRequest(messages, { justification: JUSTIFICATION }, token);
  let text = "";
  for await (const more of response.text) {
    if (token.isCancellationRequested) throw new vscode.CancellationError(); // not every provider is told of the token
    text += more;
    part(more);
  }
  return { text, model: chosen.id };
}

/** The model of that id or family, or the first one. */
async function choose(wanted: string): Promise<vscode.LanguageModelChat> {
  const found = await vscode.lm.selectChatModels();
  const chosen = found.find(({ id, family }) => !wanted || wanted === id || wanted === family);
  if (chosen !== undefined) return chosen;
  const known = found.map(({ id }) => id).join(", ");
  const none = "VS Code has no language model here: install an extension that brings one, such as GitHub Copilot";
  throw new Error(known ? `There is no language model ${wanted}; there are ${known}.` : `${none}.`);
}
