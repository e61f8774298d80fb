/** Between the client library and the server: settings on their way out, lenses on their way in. */
import * as vscode from "vscode";
import { ResponseError, type Middleware } from "vscode-languageclient/node";
import type { Launch } from "../environment/candidates";
import { isOn, pathSetting, SECTION } from "../settings";
import type { LensCommands } from "./lenses";
import { overridden } from "./overrides";

export function middleware(launch: Launch, interpreter: string | undefined, lenses: LensCommands): Middleware {
  return {
    workspace: {
      configuration: async (params, token, next) => {
        const answers = await next(params, token);
        if (answers instanceof ResponseError) return answers;
        const around = { interpreter, server: launch.python, trusted: vscode.workspace.isTrusted };
        return answers.map((answer: unknown, at) => {
          if (params.items[at]?.section !== SECTION) return answer;
          const section = { ...(answer as object), interpreter: pathSetting("interpreter") };
          return overridden(section, around);
        });
      },
    },
    // VS Code lists what does not apply by its title alone, so the reason has to be in the title.
    provideCodeActions: async (document, range, context, token, next) => {
      const actions = await next(document, range, context, token);
      for (const action of actions ?? []) {
        if (action instanceof vscode.CodeAction && action.disabled) action.title += ` (${action.disabled.reason})`;
      }
      return actions;
    },
    provideCodeLenses: (document, token, next) => (isOn("codeLens", true) ? next(document, token) : []),
    resolveCodeLens: async (lens, token, next) => {
      const resolved = await next(lens, token);
      return resolved && lenses.direct(resolved);
    },
  };
}
