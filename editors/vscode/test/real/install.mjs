// Installs a whole Visual Studio Code (code-server) and a driver of browsers into build/editor, once.

import { execFileSync } from "node:child_process";
import { accessSync, constants, copyFileSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const HERE = dirname(fileURLToPath(import.meta.url));
export const ROOT = join(HERE, "../../../..");
export const FOLDER = join(ROOT, "build/editor");
const BROWSERS = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/** What a drive needs: the browser, the driver, and the program that runs code-server. */
export class Unavailable extends Error {}

/** Returns the path of the first program that is installed. */
function which(...names) {
  for (const name of names) {
    for (const folder of (process.env.PATH ?? "").split(delimiter)) {
      try {
        accessSync(join(folder, name), constants.X_OK);
        return join(folder, name);
      } catch {
        // the next folder
      }
    }
  }
  return undefined;
}

/** Installs what is missing; throws Unavailable, with the reason, where that is impossible. */
export async function install() {
  const browser = which(...BROWSERS);
  if (browser === undefined) {
    throw new Unavailable(`needs Chromium: ${BROWSERS.join(", ")}`);
  }
  const node = join(FOLDER, `node_modules/node-linux-${process.arch}/bin/node`);
  const server = join(FOLDER, "node_modules/code-server");
  const wanted = readFileSync(join(HERE, "package.json"), "utf8");
  const known = existsSync(join(FOLDER, "installed")) ? readFileSync(join(FOLDER, "installed"), "utf8") : "";
  if (known !== wanted) {
    mkdirSync(FOLDER, { recursive: true });
    copyFileSync(join(HERE, "package.json"), join(FOLDER, "package.json"));
    // Of the modules that scripts build, only the one that writes output channels is needed.
    const options = ["--no-audit", "--no-fund", "--loglevel=error"];
    const environment = { ...process.env, PATH: dirname(node) + delimiter + process.env.PATH, npm_config_nodedir: dirname(dirname(node)) };
    const npm = (cwd, ...command) => execFileSync("npm", [...command, ...options], { cwd, env: environment, stdio: "inherit" });
    try {
      npm(FOLDER, "install", "--omit=dev", "--ignore-scripts");
      npm(join(server, "lib/vscode"), "install", "--omit=dev", "--ignore-scripts");
      npm(join(server, "lib/vscode"), "rebuild", "@vscode/spdlog");
    } catch (error) {
      throw new Unavailable(`npm cannot install code-server: ${error.message}`);
    }
    if (!existsSync(node)) {
      throw new Unavailable(`npm has no Node.js 24 for ${process.platform} on ${process.arch}`);
    }
    copyFileSync(join(HERE, "package.json"), join(FOLDER, "installed"));
  }
  const { default: puppeteer } = await import(createRequire(join(FOLDER, "package.json")).resolve("puppeteer-core"));
  return { browser, puppeteer, node, entry: join(server, "out/node/entry.js") };
}
