/** Offers Kernelwright's tools to VS Code's agents as language-model tools, where VS Code has these (from 1.95 on). */

export const PREFIX = "kernelwright_";
export const RUNS_CODE = "runs-code";
export const WRITES_FILES = "writes-files";

interface Disposable {
  dispose(): unknown;
}

/** An entry of `contributes.languageModelTools`. */
export interface Declared {
  readonly name: string;
  readonly displayName: string;
  readonly tags: readonly string[];
}

/** What an agent gives a tool. */
export type Input = Readonly<Record<string, unknown>>;

export interface Prepared {
  readonly invocationMessage: string;
  readonly confirmationMessages?: { readonly title: string; readonly message: string };
}

interface Tool<Token> {
  prepareInvocation(options: { readonly input: Input }): Prepared;
  invoke(options: { readonly input: Input }, token: Token): Promise<object>;
}

/** The part of `vscode` that is not in the oldest version which the extension runs in, and so not in its types. */
export interface ToolsApi<Token> {
  readonly lm?: { registerTool?(name: string, tool: Tool<Token>): Disposable };
  readonly LanguageModelTextPart?: new (value: string) => object;
  readonly LanguageModelToolResult?: new (content: object[]) => object;
}

/** `call` answers with the words of a tool, or rejects with the sentence for the agent. */
export function offerTools<Token>(
  { lm, LanguageModelTextPart: Part, LanguageModelToolResult: Result }: ToolsApi<Token>,
  declared: readonly Declared[],
  call: (tool: Declared, input: Input, token: Token) => Promise<string>,
): readonly Disposable[] {
  if (lm?.registerTool === undefined || Part === undefined || Result === undefined) return [];
  const register = lm.registerTool.bind(lm);
  return declared.map((tool) =>
    register(tool.name, {
      prepareInvocation: ({ input }) => prepared(tool, input),
      invoke: async ({ input }, token) => new Result([new Part(await call(tool, input, token))]),
    }),
  );
}

/** What VS Code shows of a call, and what it asks first where the call runs code or may change files. */
export function prepared({ displayName, tags }: Declared, input: Input): Prepared {
  const invocationMessage = `Kernelwright: ${displayName}`;
  const does = [
    ...(tags.includes(RUNS_CODE) ? ["runs code of this workspace"] : []),
    ...(tags.includes(WRITES_FILES) ? ["may change files"] : []),
  ];
  if (does.length === 0) return { invocationMessage };
  return {
    invocationMessage,
    confirmationMessages: { title: invocationMessage, message: `${subject(input)}: this ${does.join(" and ")}.` },
  };
}

/** The command that is run, or the kernel and its file. */
function subject({ command, file, kernel }: Input): string {
  if (Array.isArray(command)) return `\`${command.join(" ")}\``;
  return [kernel, file].filter((one) => typeof one === "string").join(" of ");
}
