/** Offers Kernelwright's tools to VS Code's agents, where VS Code takes servers from extensions (from 1.101 on). */
import type { Definition } from "./definition";

export const PROVIDER = "kernelwright.mcp";

interface Disposable {
  dispose(): unknown;
}

/** The part of `vscode` that is not in the oldest version which the extension runs in, and so not in its types. */
export interface AgentsApi {
  readonly version: string;
  readonly lm?: {
    registerMcpServerDefinitionProvider?(
      id: string,
      provider: {
        readonly onDidChangeMcpServerDefinitions: unknown;
        provideMcpServerDefinitions(): Promise<object[]>;
      },
    ): Disposable;
  };
  readonly McpStdioServerDefinition?: new (label: string, command: string, args: string[]) => object;
}

/** Undefined where VS Code takes no servers from extensions. Version 1.100 has the function and throws when it is called. */
export function offerToAgents(
  api: AgentsApi,
  onDidChange: unknown,
  find: () => Promise<readonly Definition[]>,
): Disposable | undefined {
  const { lm, McpStdioServerDefinition: Stdio } = api;
  const [major = 0, minor = 0] = api.version.split(".").map(Number);
  if (major === 1 && minor < 101) return undefined;
  if (lm?.registerMcpServerDefinitionProvider === undefined || Stdio === undefined) return undefined;
  return lm.registerMcpServerDefinitionProvider(PROVIDER, {
    onDidChangeMcpServerDefinitions: onDidChange,
    provideMcpServerDefinitions: async () =>
      (await find()).map(({ label, command, args }) => new Stdio(label, command, [...args])),
  });
}

/** Whether VS Code's settings let agents have servers: `chat.mcp.access` since 1.103, `chat.mcp.enabled` before. */
export function isMcpOn(settings: { get(name: string): unknown }): boolean {
  return settings.get("access") !== "none" && settings.get("enabled") !== false;
}
