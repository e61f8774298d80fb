// A chat model: `answers` are given in order, each the parts that are streamed, an Error, or "endless".
const vscode = require("vscode");

const script = { answers: [], asked: [], ended: false };
const METADATA = {
  name: "Scripted",
  vendor: "kernelwright-tests",
  family: "scripted",
  version: "1",
  maxInputTokens: 100_000,
  maxOutputTokens: 10_000,
};

async function answer(messages, progress, token) {
  script.asked.push(messages.map(({ content }) => content.map((part) => part.value).join("")));
  const parts = script.answers.shift() ?? [];
  if (parts instanceof Error) throw parts;
  const say = (value) => progress.report({ index: 0, part: new vscode.LanguageModelTextPart(value) });
  // VS Code tells a provider of no cancel once it has begun to answer.
  for (
    let at = 0;
    !token.isCancellationRequested && !script.ended && (parts === "endless" || at < parts.length);
    at += 1
  ) {
    say(parts === "endless" ? "word " : parts[at]);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

exports.activate = (context) => {
  const provider = {
    provideLanguageModelResponse: (messages, options, extension, progress, token) => answer(messages, progress, token),
    provideTokenCount: (text) => Promise.resolve(String(text).length / 4),
  };
  context.subscriptions.push(vscode.lm.registerChatModelProvider("scripted-model", provider, METADATA));
  return script;
};
