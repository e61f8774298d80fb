/** For wishes that VS Code may let go without a word: told again until they have had their effect. */

/** Whether `act`, given how often it was done before, has had its effect after `most` times or fewer. */
export async function insisted(
  act: (before: number) => void,
  done: () => boolean,
  pauseMs = 300,
  most = 10,
): Promise<boolean> {
  for (let before = 0; before < most; before += 1) {
    act(before);
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    if (done()) return true;
  }
  return false;
}
