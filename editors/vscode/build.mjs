// Writes out/: the extension and its tests, each in one file, and copies of what the repository has once.
import { build } from "esbuild";
import { copyFileSync, mkdirSync, readdirSync, rmSync } from "node:fs";

rmSync("out", { recursive: true, force: true });
mkdirSync("out/test", { recursive: true });
const options = { bundle: true, platform: "node", format: "cjs", target: "node20", external: ["vscode"], logLevel: "warning" };
await build({ ...options, entryPoints: ["src/extension.ts"], outfile: "out/extension.js", minify: true });
const tests = readdirSync("test").filter((name) => name.endsWith(".test.ts"));
await build({ ...options, entryPoints: tests.map((name) => `test/${name}`), outdir: "out/test", sourcemap: "inline" });
copyFileSync("../../grammar/tvms.tmLanguage.json", "out/tvms.tmLanguage.json");
copyFileSync("../../LICENSE", "LICENSE");
