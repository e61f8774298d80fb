import assert from "node:assert/strict";
import test from "node:test";
import { definition } from "../../src/agents/definition";
import { isMcpOn, offerToAgents, PROVIDER, type AgentsApi } from "../../src/agents/provider";
import { offerTools, prepared, type Declared, type ToolsApi } from "../../src/agents/tools";
import { executableLaunch, pythonLaunch } from "../../src/environment/candidates";

const PYTHON = "/env/bin/python";
const SERVER = definition(pythonLaunch("interpreter", PYTHON, "0.1.0"), "/project", PYTHON);

test("agents start the server's own Python, in the folder that is open", () => {
  assert.deepEqual(SERVER, {
    label: "Kernelwright",
    command: PYTHON,
    args: ["-P", "-m", "kernelwright", "mcp", "--workspace", "/project"],
  });
});

test("kernels run in the interpreter that is selected, where that is another one", () => {
  const { args } = definition(pythonLaunch("managed", "/managed/bin/python", "0.1.0"), "/project", PYTHON);
  assert.deepEqual(args.slice(-2), ["--interpreter", PYTHON]);
});

test("an executable is started by its own command", () => {
  const { command, args } = definition(executableLaunch("/opt/kernelwright"), "/project", "");
  assert.deepEqual([command, ...args], ["/opt/kernelwright", "mcp", "--workspace", "/project"]);
});

class Stdio {
  constructor(
    readonly label: string,
    readonly command: string,
    readonly args: string[],
  ) {}
}

test("where VS Code takes servers from extensions it gets what was found", async () => {
  const offered: { id: string; servers: () => Promise<object[]> }[] = [];
  const lm = {
    registerMcpServerDefinitionProvider: (
      id: string,
      { provideMcpServerDefinitions: servers }: { provideMcpServerDefinitions: () => Promise<object[]> },
    ) => {
      offered.push({ id, servers });
      return { dispose: () => undefined };
    },
  };
  const find = (): Promise<[typeof SERVER]> => Promise.resolve([SERVER]);
  assert.ok(offerToAgents({ version: "1.101.0", lm, McpStdioServerDefinition: Stdio }, undefined, find));
  const [{ id, servers }] = offered as [(typeof offered)[0]];
  assert.deepEqual(await servers(), [new Stdio(SERVER.label, SERVER.command, [...SERVER.args])]);
  assert.equal(id, PROVIDER);
});

test("an older VS Code, or one without such servers, is asked for nothing", () => {
  const find = (): never => assert.fail("nobody asks for servers");
  const lm = { registerMcpServerDefinitionProvider: (): never => assert.fail("a proposed API is not for us") };
  const tools = { registerTool: () => undefined } as object;
  const others: AgentsApi[] = [
    { version: "1.91.0" },
    { version: "1.100.3", lm, McpStdioServerDefinition: Stdio },
    { version: "1.105.0", lm: tools, McpStdioServerDefinition: Stdio },
  ];
  for (const api of others) assert.equal(offerToAgents(api, undefined, find), undefined);
});

test("servers are off where a setting of VS Code's says so", () => {
  const among = (values: Record<string, unknown>): boolean => isMcpOn({ get: (name) => values[name] });
  assert.deepEqual([{}, { access: "all" }, { access: "none" }, { enabled: true }, { enabled: false }].map(among), [
    true,
    true,
    false,
    true,
    false,
  ]);
});

const LOOKING: Declared = { name: "kernelwright_list_kernels", displayName: "List kernels", tags: [] };
const KEEPING: Declared = {
  name: "kernelwright_keep_step",
  displayName: "Keep a step",
  tags: ["runs-code", "writes-files"],
};

class Part {
  constructor(readonly value: string) {}
}

class Result {
  constructor(readonly content: object[]) {}
}

test("each tool is registered by its name and answers with what the call tells", async () => {
  type Tool = Parameters<NonNullable<NonNullable<ToolsApi<string>["lm"]>["registerTool"]>>[1];
  const registered = new Map<string, Tool>();
  const lm = {
    registerTool: (name: string, tool: Tool) => {
      registered.set(name, tool);
      return { dispose: () => registered.delete(name) };
    },
  };
  const api = { lm, LanguageModelTextPart: Part, LanguageModelToolResult: Result };
  const disposables = offerTools<string>(api, [LOOKING, KEEPING], (tool, input, token) =>
    Promise.resolve([tool.name, JSON.stringify(input), token].join(" ")),
  );
  assert.deepEqual([...registered.keys()], [LOOKING.name, KEEPING.name]);
  const answer = await registered.get(LOOKING.name)?.invoke({ input: { file: "a.py" } }, "token");
  assert.deepEqual(answer, new Result([new Part('kernelwright_list_kernels {"file":"a.py"} token')]));
  for (const one of disposables) one.dispose();
  assert.equal(registered.size, 0);
});

test("a VS Code without language-model tools is offered none", () => {
  const call = (): never => assert.fail("nobody calls");
  for (const api of [{}, { lm: {} }]) assert.deepEqual(offerTools(api, [LOOKING], call), []);
});

test("what runs code or may change files is asked first, and says what it is about", () => {
  assert.equal(prepared(LOOKING, { file: "a.py" }).confirmationMessages, undefined);
  assert.deepEqual(prepared(KEEPING, { file: "a.py", kernel: "scaled" }).confirmationMessages, {
    title: "Kernelwright: Keep a step",
    message: "scaled of a.py: this runs code of this workspace and may change files.",
  });
  const recording = prepared({ ...KEEPING, tags: ["runs-code"] }, { command: ["pytest", "test_a.py"] });
  assert.equal(recording.confirmationMessages?.message, "`pytest test_a.py`: this runs code of this workspace.");
});
