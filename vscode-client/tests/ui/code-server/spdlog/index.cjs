// What code-server asks of its logger, a native module: lines appended to a file. So nothing has to be compiled.
const { appendFileSync, mkdirSync } = require("node:fs");
const path = require("node:path");

const LEVELS = ["trace", "debug", "info", "warning", "error", "critical"];

class Logger {
  level = 2;
  bare = false;

  constructor(file) {
    this.file = file;
  }
  write(level, message) {
    if (level < this.level) return;
    const now = new Date().toISOString().replace("T", " ").slice(0, -1);
    appendFileSync(this.file, this.bare ? message : `${now} [${LEVELS[level]}] ${message}\n`);
  }
  trace = (message) => this.write(0, message);
  debug = (message) => this.write(1, message);
  info = (message) => this.write(2, message);
  warn = (message) => this.write(3, message);
  error = (message) => this.write(4, message);
  critical = (message) => this.write(5, message);
  getLevel = () => this.level;
  setLevel = (level) => {
    this.level = level;
  };
  clearFormatters = () => {
    this.bare = true;
  };
  setPattern() {}
  flush() {}
  drop() {}
}

async function logger(_name, file) {
  mkdirSync(path.dirname(file), { recursive: true });
  return new Logger(file);
}

exports.setFlushOn = () => {};
exports.createRotatingLogger = logger;
exports.createAsyncRotatingLogger = logger;
