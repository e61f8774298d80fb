/** What the server is told of the settings where the editor knows better than the settings page. */

export interface Around {
  /** The interpreter that is selected in the editor. */
  readonly interpreter: string | undefined;
  /** The one that runs the server. */
  readonly server: string | undefined;
  readonly trusted: boolean;
}

type Section = Readonly<Record<string, unknown>>;

/**
 * The user's kernels run in the selected interpreter, also when the server has an environment of its own. The server
 * always answers with lenses, because the kernels view is made of them; whether they are shown is decided here. In a
 * workspace that is not trusted nothing may run a kernel unasked, and none of its code is sent to a language model.
 */
export function overridden(section: Section, around: Around): Section {
  const chosen = section["interpreter"];
  const known = around.trusted && around.interpreter !== around.server ? around.interpreter : undefined;
  const interpreter = typeof chosen === "string" && chosen !== "" ? chosen : (known ?? "");
  const quiet = around.trusted ? {} : { verifyOn: "manual", inlayHints: false, model: "" };
  return { ...section, interpreter, codeLens: true, ...quiet };
}
