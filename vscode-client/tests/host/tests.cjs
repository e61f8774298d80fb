// What the suites share: waiting, and running one test after the other, each told by name.
const PATIENCE_MS = 90_000; // for a worker that imports torch on a busy machine

exports.until = async (condition, what) => {
  for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline;) {
    const value = await condition();
    if (value) return value;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`not within ${PATIENCE_MS / 1000} s: ${what}`);
};

exports.all = async (tests) => {
  const failed = [];
  for (const [name, test] of Object.entries(tests)) {
    try {
      await test();
      console.log(`host: passed: ${name}`);
    } catch (error) {
      failed.push(name);
      console.log(`host: failed: ${name}: ${error.message}`);
    }
  }
  if (failed.length) throw new Error(`failed: ${failed.join("; ")}`);
};
