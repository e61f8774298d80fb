/** The server's code actions for one kernel, read as a list of strategies. */

const PREFIX = "refactor.rewrite.optimizeKernel.";

export interface Offer {
  readonly strategy: string;
  readonly title: string;
  readonly best: boolean;
  /** Why it does not apply; empty when it does. */
  readonly reason: string;
  readonly argument: { readonly kernel: string; readonly strategy: string } | undefined;
}

interface Action {
  readonly title: string;
  readonly kind?: string;
  readonly isPreferred?: boolean;
  readonly disabled?: { readonly reason: string };
  readonly command?: { readonly arguments?: readonly unknown[] };
}

/** In the server's order: what applies comes first, best first. */
export function offered(actions: readonly Action[]): readonly Offer[] {
  return actions
    .filter((action) => action.kind?.startsWith(PREFIX))
    .map((action) => {
      const about = action.command?.arguments?.[0] as { kernel: string; strategy: string } | undefined;
      return {
        strategy: (action.kind ?? "").slice(PREFIX.length),
        title: action.title.replace(/^Optimize kernel: /, ""),
        best: action.isPreferred === true,
        reason: action.disabled?.reason ?? "",
        argument: about && { kernel: about.kernel, strategy: about.strategy },
      };
    });
}
