/** Numbers and names as a reader of the report sees them; the text is safe inside HTML and SVG only once escaped. */
import { format } from "d3-format";

const scaled = format(".3~s");

/** "1.31 TFLOP/s": three digits and an SI prefix, with a space that does not break. */
export function si(value: number, unit: string): string {
  const [, digits = "", prefix = ""] = /^(.*?)([a-zµ]?)$/i.exec(scaled(value)) ?? [];
  return `${digits}\u00a0${prefix}${unit}`;
}

/** "1.12 FLOP/byte", without a prefix. */
export function intensity(value: number): string {
  return `${format(value < 1000 ? ".3~r" : ",.0f")(value)}\u00a0FLOP/byte`;
}

/** "62 %"; what is not all is not 100 %, and what is not nothing is not 0 %. */
export function percent(share: number): string {
  const rounded = Math.round(share * 100);
  if (rounded === 0 && share > 0) return "<1\u00a0%";
  return rounded === 100 && share < 1 ? ">99\u00a0%" : `${rounded}\u00a0%`;
}

/** What acts or cannot be seen, as in values/plain.py: controls, marks that turn or hide text, line separators. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Text as HTML or SVG that shows it and does nothing else; `\u202e` in the place of what acts or cannot be seen. */
export function escaped(text: string): string {
  const names: Readonly<Record<string, string>> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
    "'": "&#39;",
  };
  return text.replace(UNSEEN, seen).replace(/[&<>"']/g, (one) => names[one] ?? one);
}

function seen(one: string): string {
  if (one === "\n" || one === "\t") return one; // white space, as HTML has it
  const digits = (one.codePointAt(0) ?? 0).toString(16);
  if (digits.length <= 2) return `\\x${digits.padStart(2, "0")}`;
  return digits.length <= 4 ? `\\u${digits.padStart(4, "0")}` : `\\U${digits.padStart(8, "0")}`;
}
