/** Where a server may be found, as values: what was looked at, in which order, and what became of it. */

export type Source = "setting" | "interpreter" | "managed";

/** A way to start the server. `python` is the interpreter that runs it, where that is known. */
export interface Launch {
  readonly source: Source;
  readonly command: string;
  readonly args: readonly string[];
  readonly version: string;
  readonly python?: string;
}

/** One place that was looked at, for the doctor's page. */
export interface Look {
  readonly source: Source;
  readonly where: string;
  readonly found: boolean;
  readonly detail: string;
}

export interface Located {
  readonly launch?: Launch;
  readonly looks: readonly Look[];
  /** The interpreter that is selected in the editor, with or without a server in it. */
  readonly interpreter?: string;
}

/**
 * `-P` keeps the workspace's own files off the module path: a file named like a module of the standard library would
 * otherwise be run by the server.
 */
export function pythonLaunch(source: Source, python: string, version: string): Launch {
  return { source, command: python, args: ["-P", "-m", "kernelwright.lsp"], version, python };
}

export function executableLaunch(path: string): Launch {
  return { source: "setting", command: path, args: ["serve"], version: "" };
}

/** Whether a path names a Python, rather than the `kernelwright` executable. */
export function isPython(path: string): boolean {
  const name = path.split(/[\\/]/).pop() ?? "";
  return /^(python|pypy)[\d.]*(\.exe)?$/i.test(name);
}

export interface Places {
  readonly home: string;
  readonly folder?: string | undefined;
  readonly variables: Readonly<Record<string, string | undefined>>;
}

/** `~`, `${userHome}`, `${workspaceFolder}` and `${env:NAME}` in a path from a setting; what is unknown stays as it is. */
export function expanded(path: string, places: Places): string {
  const home = path === "~" || /^~[\\/]/.test(path) ? places.home + path.slice(1) : path;
  return home.replace(/\$\{(userHome|workspaceFolder|env:([^}]+))\}/g, (whole, name: string, variable?: string) => {
    if (variable !== undefined) return places.variables[variable] ?? "";
    return (name === "userHome" ? places.home : places.folder) ?? whole;
  });
}

/** A path as a person would write it. */
export function shortened(path: string, home: string): string {
  return path.startsWith(`${home}/`) || path.startsWith(`${home}\\`) ? `~${path.slice(home.length)}` : path;
}

/** Where a virtual environment keeps its interpreter. */
export function pythonIn(environment: string, platform: NodeJS.Platform): string {
  return platform === "win32" ? `${environment}\\Scripts\\python.exe` : `${environment}/bin/python`;
}
