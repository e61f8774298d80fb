/** A profile as Markdown: the kernels of one warm call, the longest first. */
import { milliseconds, type ProfileResult } from "../client/answers";
import { table } from "./doctorPage";

export function profilePage(kernel: string, profile: ProfileResult): string {
  const timed = profile.kernels.some((one) => one.time_us !== null);
  const rows = profile.kernels.map((one) => [
    `\`${one.name.slice(0, 120)}\``,
    one.origin,
    `${one.launches}`,
    ...(timed ? [one.time_us === null ? "" : milliseconds(one.time_us / 1000), percent(one.share)] : []),
  ]);
  const head = ["Kernel", "Origin", "Launches", ...(timed ? ["Time (ms)", "Share"] : [])];
  const missing = profile.unmeasured ? [`Times are missing: ${profile.unmeasured}`, ""] : [];
  return [`# Profile of ${kernel}`, "", `${profile.sentence}.`, "", ...missing, ...table(head, rows)].join("\n");
}

function percent(share: number | null): string {
  return share === null ? "" : `${(100 * share).toFixed(1)} %`;
}
