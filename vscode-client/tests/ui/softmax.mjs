// A step on softmax.py, as it is seen; the one in waiting/ lasts until it is let go.
import { rmSync, writeFileSync } from "node:fs";
import path from "node:path";

export const BASELINE = /denominator \+= tl\.sum\(tl\.exp\(x - row_max\), axis=0\)/;
export const ONLINE = /tl\.exp\(row_max - /;
export const ROWS = ".pane-body .monaco-list-row";

const go = ({ workspace }) => path.join(workspace, "go"); // what the kernel's call waits for

export const letGo = (window) => writeFileSync(go(window), "");
export const hold = (window) => rmSync(go(window), { force: true });

/** From the menu to where the kernel is called. */
export async function begun({ me }, entry = /Reduce rows online/) {
  await me.refactor("def softmax_kernel", entry, (soon) => me.notification(/Optimize softmax_kernel/, soon));
  await me.notification(/Optimize softmax_kernel: Verifying/);
}
