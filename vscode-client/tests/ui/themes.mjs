// The editor's themes, each of another kind, and how a webview names that kind.
import { until } from "./until.mjs";

const THEMES = [
  { name: "Light Modern", kind: "vs", frame: "vscode-light" },
  { name: "Dark High Contrast", kind: "hc-black", frame: "vscode-high-contrast" },
  { name: "Light High Contrast", kind: "hc-light", frame: "vscode-high-contrast-light" },
  { name: "Dark Modern", kind: "vs-dark", frame: "vscode-dark" },
];

/** One step for each theme: `body` is given the window, the theme, and what waits for a webview's frame to have it. */
export function inEachTheme(step, title, body) {
  for (const theme of THEMES) {
    step(`${title} in ${theme.name}`, async (window) => {
      const { page, me } = window;
      await until(async () => {
        const asked = page.locator('.quick-input-widget input[placeholder*="Color Theme"]');
        await me.command("Preferences: Color Theme", (timeout) => asked.waitFor({ timeout }));
        await me.pick(theme.name, new RegExp(`^${theme.name}`));
        return true;
      }, theme.name);
      await page.locator(`.monaco-workbench.${theme.kind}`).waitFor();
      const drawn = (frame) => frame.locator(`body.${theme.frame}`).waitFor({ timeout: 5000 });
      await body(window, theme, drawn);
    });
  }
}
