// Steps that go on from one another in one window, as a person's do.
import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { after, before, describe, test } from "node:test";
import { open } from "./editor.mjs";

/** `body(step)` says the steps; each is given the window. After a step that fails the others are not tried. */
export function scene(title, file, options, body) {
  describe(title, () => {
    let window;
    let failed;
    before(async () => {
      window = await open(file, options);
    });
    after(() => window?.close());
    body((name, run) =>
      test(name, async () => {
        if (failed !== undefined) throw brief(`not tried, because "${failed}" failed before it`);
        try {
          await run(window);
        } catch (error) {
          failed = name;
          throw brief(`${reasons(error)}\n${await told(window, name)}`);
        }
      }),
    );
  });
}

/** What went wrong, and what was behind it. */
function reasons(error) {
  return error.cause instanceof Error ? `${error.stack}\nbecause: ${reasons(error.cause)}` : error.stack;
}

/** An error whose words are all that is shown of it. */
function brief(message) {
  const error = new Error(message);
  error.stack = message;
  return error;
}

/** What was to be seen, for a machine whose pictures nobody can look at, and the picture. */
async function told({ page, me, data }, name) {
  const shot = path.join(data, `${name.replace(/\W+/g, "-")}.png`);
  await page.screenshot({ path: shot });
  await me.press("Control+K");
  await me.press("Control+Shift+N"); // the notifications that were hidden again
  const notes = await page.locator(".notification-list-item-message").allTextContents();
  return [
    `screenshot: ${shot}`,
    ...notes.map((note) => `notification: ${note}`),
    "editor:",
    await me.text(),
    "log:",
    ...logged(data),
  ].join("\n");
}

function logged(data) {
  const names = readdirSync(path.join(data, "logs"), { recursive: true }).filter((one) =>
    one.endsWith("Kernelwright.log"),
  );
  const newest = names.sort().at(-1);
  return newest === undefined
    ? []
    : readFileSync(path.join(data, "logs", newest), "utf8")
        .split("\n")
        .slice(-30);
}
