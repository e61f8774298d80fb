// What a person does with an editor's page, and what they see there. VS Code shows spaces as no-break spaces.

import { until } from "./editor.mjs";

const plain = (text) => text.replace(/\u00a0/g, " ");

export function person(page) {
  const line = (text) =>
    page
      .locator(".view-line")
      .filter({ hasText: new RegExp(text.replace(/ /g, "[ \\u00a0]")) })
      .first();
  const seen = (selector, pattern) =>
    page
      .waitForFunction(
        ([where, source]) =>
          [...globalThis.document.querySelectorAll(where)].find((element) =>
            new RegExp(source, "s").test(element.textContent.replace(/\u00a0/g, " ")),
          )?.textContent,
        [selector, pattern.source],
      )
      .then((handle) => handle.jsonValue())
      .then(plain);

  return {
    seen,

    text: async () => plain((await page.locator(".view-lines .view-line").allTextContents()).join("\n")),

    async hover(word, pattern = /./) {
      await page.mouse.move(900, 700);
      const box = await line(word)
        .locator("span span")
        .filter({ hasText: word.split(" ").pop() })
        .first()
        .boundingBox();
      await page.mouse.move(box.x + 6, box.y + box.height / 2);
      await page.mouse.move(box.x + 8, box.y + box.height / 2);
      return seen(".monaco-hover", pattern);
    },

    async click(text) {
      await line(text).click();
    },

    async press(keys) {
      await page.keyboard.press(keys);
    },

    async command(title) {
      await page.keyboard.press("F1");
      await page.locator(".quick-input-widget input").first().fill(`>${title}`);
      await page.locator(".quick-input-list .monaco-list-row", { hasText: title }).first().click();
    },

    async lens(pattern) {
      await seen(".codelens-decoration a", pattern);
      return page.locator(".codelens-decoration a").filter({ hasText: pattern }).first();
    },

    /** Takes an entry of a row's context menu; a menu that has just opened takes no clicks yet. */
    async menu(row, title) {
      await row.click({ button: "right" });
      const entry = page.locator(".context-view .action-label", { hasText: title });
      await entry.waitFor();
      while (await entry.isVisible()) {
        await entry.click({ timeout: 2000 }).catch(() => undefined);
        await page.waitForTimeout(200);
      }
    },

    /** Takes an entry of the open action menu, by the keyboard. */
    async choose(pattern) {
      await seen(".action-widget", pattern);
      const focused = page.locator(".action-widget .monaco-list-row.focused");
      for (let tries = 0; tries < 20; tries++) {
        if (pattern.test(plain((await focused.textContent()) ?? ""))) return page.keyboard.press("Enter");
        await page.keyboard.press("ArrowDown");
      }
      throw new Error(`the menu has no entry like ${pattern}`);
    },

    notification: (pattern) => seen(".notifications-toasts .notification-list-item", pattern),
    /** The frame of a rendered page or a panel, by its heading. */
    frame: (heading) =>
      until(async () => {
        for (const one of page.frames()) {
          const found = await one
            .getByRole("heading", { name: heading })
            .count()
            .catch(() => 0); // the frame is gone again
          if (found) return one;
        }
        return undefined;
      }, heading),
    notified: (pattern) => page.locator(".notifications-toasts .notification-list-item").filter({ hasText: pattern }),
  };
}
