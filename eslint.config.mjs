import js from "@eslint/js";
import ts from "typescript-eslint";

const client = ["vscode-client/src/**/*.ts", "vscode-client/tests/unit/**/*.ts"];

export default ts.config(
  { ignores: ["**/dist/"] },
  js.configs.recommended,
  {
    languageOptions: {
      globals: { URL: "readonly", console: "readonly", process: "readonly", fetch: "readonly", setTimeout: "readonly" },
    },
  },
  {
    files: ["**/*.cjs"],
    languageOptions: { sourceType: "commonjs", globals: { require: "readonly", exports: "writable" } },
  },
  {
    files: client,
    extends: [ts.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: `${import.meta.dirname}/vscode-client` },
    },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-unsafe-class-instance-assignment": "off",
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      "@typescript-eslint/no-floating-promises": ["error", { allowForKnownSafeCalls: ["test"] }],
    },
  },
);
