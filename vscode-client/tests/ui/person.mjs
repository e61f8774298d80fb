// What a person does with an editor's page, and what they see there. VS Code shows spaces as no-break spaces.
import { PATIENCE_MS, until } from "./until.mjs";

const plain = (text) => text.replace(/\u00a0/g, " ");
const QUICK = ".quick-input-widget";
const SOON_MS = 15_000; // for what can be tried again without harm
const LENS = ".codelens-decoration a";
const FILE = ".explorer-folders-view .monaco-list-row";
const NOTE = ".notifications-toasts .notification-list-item";

export function person(page) {
  const line = (text) =>
    page
      .locator(".editor-instance .view-line")
      .filter({ hasText: new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/ /g, "[ \\u00a0]")) })
      .first();

  /** Also where the caret is right under the mouse and would take the click for itself. */
  const clickLine = (text, timeout = PATIENCE_MS) => line(text).click({ force: true, timeout });

  /** The text of the first element that matches both, once there is one. */
  const seen = (selector, pattern, timeout) =>
    page
      .waitForFunction(
        ([where, source]) =>
          [...globalThis.document.querySelectorAll(where)]
            .map((element) => element.textContent.replace(/\u00a0/g, " "))
            .find((text) => new RegExp(source, "s").test(text)),
        [selector, pattern.source],
        { polling: 100, ...(timeout ? { timeout } : {}) },
      )
      .then((handle) => handle.jsonValue())
      .catch((error) => {
        throw new Error(`not seen in ${selector}: ${pattern}`, { cause: error });
      });

  /** Types into the open quick input and takes the entry, once it is the one that Enter would take. */
  const pick = async (text, entry) => {
    await page.locator(`${QUICK} input`).first().fill(text, { timeout: SOON_MS });
    await seen(`${QUICK} .monaco-list-row.focused`, entry, SOON_MS);
    await page.keyboard.press("Enter");
  };

  const written = async () => {
    const lines = await page.locator(".editor-instance .view-lines .view-line").evaluateAll((all) =>
      all
        .map((one) => [parseFloat(one.style.top), one.textContent])
        .sort(([one], [other]) => one - other)
        .map(([, text]) => text),
    );
    return plain(lines.join("\n"));
  };

  const command = (title, shown) =>
    until(async () => {
      await page.keyboard.press("F1");
      await page.locator(`${QUICK} input`).first().fill(`>${title}`, { timeout: SOON_MS });
      const label = page.locator(".label-name").getByText(new RegExp(`^(\\w+: )?${title}$`));
      const rows = page.locator(`${QUICK} .monaco-list-row`).filter({ has: label });
      await rows.first().waitFor({ timeout: SOON_MS });
      const focused = page.locator(`${QUICK} .monaco-list-row.focused`).filter({ has: label });
      for (let down = 0; down < 5 && !(await focused.count()); down += 1) await page.keyboard.press("ArrowDown");
      if (!(await focused.count())) return false;
      await page.keyboard.press("Enter");
      await shown(SOON_MS);
      return true;
    }, `the command ${title}`);

  const actions = (text, entry, key = "Control+Shift+R") =>
    until(async () => {
      await clickLine(text, SOON_MS);
      await page.keyboard.press(key);
      try {
        return await seen(".action-widget .monaco-list-row.action", entry, SOON_MS);
      } catch (error) {
        await page.keyboard.press("Escape"); // another line's menu would only be closed by the next click
        throw error;
      }
    }, `the action menu with ${entry}`);

  const choose = async (pattern, timeout = PATIENCE_MS) => {
    await seen(".action-widget .monaco-list-row.action", pattern, timeout);
    const focused = page.locator(".action-widget .monaco-list-row.focused");
    const visited = new Set();
    for (;;) {
      const at = await focused.getAttribute("data-index", { timeout });
      if (pattern.test(plain(await focused.textContent({ timeout })))) break;
      if (visited.has(at)) throw new Error(`${pattern} cannot be chosen`);
      visited.add(at);
      await page.keyboard.press("ArrowDown");
      const moved = async () => (await focused.getAttribute("data-index", { timeout: SOON_MS })) !== at;
      await until(moved, "the next entry of the menu", timeout);
    }
    await page.keyboard.press("Enter");
    await page.locator(".action-widget").waitFor({ state: "hidden", timeout });
  };

  const away = () => page.mouse.move(1000, 580); // where nothing reacts to it

  return {
    seen,
    away,
    line,
    pick,

    /** The lines that are shown, from top to bottom. */
    text: written,

    /** Whether the file differs from what is saved; nothing here saves unasked. */
    changed: async (name) => (await page.locator(`.tab.dirty[data-resource-name="${name}"]`).count()) > 0,

    /** By its name. The quick input closes when something else takes the focus meanwhile; then it is opened again. */
    openFile: (name) =>
      until(async () => {
        await page.keyboard.press("Control+p");
        await pick(name, new RegExp(`^${name.replace(".", "\\.")}`));
        await page.locator(`.tab.active[data-resource-name="${name}"]`).waitFor({ timeout: SOON_MS });
        await page.locator(".editor-instance .view-line").first().waitFor({ timeout: SOON_MS });
        return true;
      }, `${name} in the editor`),

    /** In the explorer, where a key that comes before the row has the focus does nothing; then it comes again. */
    inExplorer: (name, key, shown) =>
      until(async () => {
        await page.keyboard.press("Control+Shift+e");
        await page.locator(`${FILE}[aria-label^="${name}"]`).click({ timeout: SOON_MS });
        await page.keyboard.press(key);
        return shown(SOON_MS);
      }, `${key} on ${name} in the explorer`),

    /** The card at `word` of the first line that has `around`; asked for again while lenses still move the lines. */
    async hover(around, pattern, word = around.split(" ").pop()) {
      return until(async () => {
        await away();
        const box = await line(around)
          .locator("span span")
          .filter({ hasText: word })
          .first()
          .boundingBox({ timeout: SOON_MS });
        await page.mouse.move(box.x + 6, box.y + box.height / 2);
        await page.mouse.move(box.x + 8, box.y + box.height / 2);
        return seen(".monaco-hover", pattern, SOON_MS);
      }, `a card like ${pattern}`);
    },

    click: clickLine,
    press: (keys) => page.keyboard.press(keys),

    /**
     * From the command palette, by the keyboard, because its list may be drawn anew under a click. It closes when the focus
     * moves, as the quick input does; so it is asked again until `shown`, what comes of the command, is there.
     */
    command,

    lens: (pattern) => seen(LENS, pattern),

    /** Clicks the lens and waits for the notification that comes of it; one that is being drawn anew takes no click. */
    clickLens: (pattern, effect, before = () => {}) =>
      until(async () => {
        const lens = page.locator(LENS).filter({ hasText: pattern }).first();
        await lens.hover({ timeout: SOON_MS });
        before();
        await lens.click({ timeout: SOON_MS });
        return seen(NOTE, effect, SOON_MS);
      }, `a notification like ${effect}`),

    /**
     * Takes an entry of a row's context menu: by the keyboard, because a menu that has just opened takes no clicks. It
     * closes when the focus moves, as it does a moment after an editor was closed; so it is opened again until `shown`,
     * what comes of the entry, is there.
     */
    menu: (row, title, shown) =>
      until(async () => {
        const entry = page.locator(".context-view .action-item").filter({ hasText: title }).first();
        await row.click({ button: "right", timeout: SOON_MS });
        await entry.hover({ timeout: 2000 });
        const focused = page.locator(".context-view .action-item.focused").filter({ hasText: title });
        if (!(await focused.count())) return false;
        await page.keyboard.press("Enter");
        await entry.waitFor({ state: "hidden", timeout: SOON_MS });
        await shown(SOON_MS);
        return true;
      }, `the menu's entry ${title}`),

    /**
     * Opens the menu of refactorings at a line, or that of another key; one that comes while the focus is on its way to the
     * editor opens none, and a lens that is just drawn moves the lines away under the mouse.
     */
    actions,

    /** Takes an entry of the open action menu: by the keyboard, because the menu takes no clicks before the mouse moves. */
    choose,

    /**
     * Takes an entry of a line's menu of refactorings. The menu closes when the focus moves, and a key that comes then goes
     * to the text; so the key is taken back and the menu opened again until `shown`, what comes of the entry, is there. An
     * entry of a list that VS Code has just replaced is lost with a message, which nobody is left to read.
     */
    refactor: (text, entry, shown) =>
      until(async () => {
        const before = await written();
        await actions(text, entry);
        await choose(entry, SOON_MS);
        try {
          return await shown(SOON_MS);
        } catch (error) {
          if ((await written()) !== before) await page.keyboard.press("Control+z");
          await command("Notifications: Clear All Notifications", async () => true);
          throw error;
        }
      }, `what comes of ${entry}`),

    /** Opens the action menu's other half: what does not apply, each with its reason. */
    async showDisabled() {
      const link = page.locator(".action-widget .action-label", { hasText: "Show Disabled" });
      await link.hover({ force: true });
      await link.click();
    },

    notification: (pattern, timeout) => seen(NOTE, pattern, timeout),
    notified: (pattern) => page.locator(NOTE).filter({ hasText: pattern }),

    /** Until the bell has no dot: no notification waits for the person, on the screen or hidden again, and no progress. */
    atPeace: () => page.locator('[id="status.notifications"] .codicon-bell').waitFor(),

    /** Presses a button of the notification that says `pattern`. */
    answer: (pattern, button) =>
      page.locator(NOTE).filter({ hasText: pattern }).locator(".monaco-button", { hasText: button }).click(),

    /** What `read` finds in the frame of a rendered page or a panel, by its heading; a page drawn anew is read anew. */
    async onPage(heading, read) {
      const found = await until(async () => {
        for (const one of page.frames()) {
          if (await one.getByRole("heading", { name: heading }).count()) return { read: await read(one) };
        }
        return undefined;
      }, `a page with the heading ${heading}`);
      return found.read;
    },
  };
}
