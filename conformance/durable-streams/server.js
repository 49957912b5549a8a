// Starts the server under test on a free port with an empty data directory, and stops it after the tests.
// KELDA_BIN names the binary (default: the one that `cargo build --profile ci` makes); KELDA_BASE_URL names a
// server that runs already, which is then left alone.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { longPollTimeoutMs } from "./settings.js";

const startTimeoutMs = 30_000;
const stopTimeoutMs = 15_000;

const defaultBinary = fileURLToPath(new URL("../../target/ci/kelda", import.meta.url));

export default async function setup(project) {
  if (process.env.KELDA_BASE_URL) {
    project.provide("baseUrl", process.env.KELDA_BASE_URL);
    return;
  }
  const folder = await mkdtemp(join(tmpdir(), "kelda-conformance-"));
  const server = start(process.env.KELDA_BIN ?? defaultBinary, folder);
  try {
    project.provide("baseUrl", `http://${await address(server)}`);
  } catch (error) {
    server.kill("SIGKILL");
    await rm(folder, { recursive: true, force: true });
    throw error;
  }
  return async () => {
    const stopped = await stop(server);
    await rm(folder, { recursive: true, force: true });
    if (!stopped) throw new Error(`the server did not exit cleanly within ${stopTimeoutMs} ms of SIGTERM`);
  };
}

function start(binary, folder) {
  const options = {
    "data-dir": folder,
    listen: "127.0.0.1:0",
    "amqp-listen": "off",
    "admin-listen": "off",
    "long-poll-timeout": `${longPollTimeoutMs}ms`,
  };
  const flags = Object.entries(options).flatMap(([name, value]) => [`--${name}`, value]);
  return spawn(binary, ["serve", "--ready-json", ...flags], { stdio: ["ignore", "pipe", "inherit"] });
}

// The address in the first line on the server's output.
async function address(server) {
  const lines = createInterface({ input: server.stdout });
  const failed = new Promise((_, reject) => {
    server.once("error", reject);
    server.once("exit", (code, signal) => reject(new Error(`the server ended before it was ready (${code ?? signal})`)));
    setTimeout(() => reject(new Error(`the server was not ready within ${startTimeoutMs} ms`)), startTimeoutMs).unref();
  });
  const [line] = await Promise.race([once(lines, "line"), failed]);
  failed.catch(() => {});
  return JSON.parse(line).listen;
}

async function stop(server) {
  if (server.exitCode !== null || server.signalCode !== null) return false;
  const ended = once(server, "exit").then(([code]) => code === 0);
  server.kill("SIGTERM");
  const late = new Promise((resolve) => setTimeout(resolve, stopTimeoutMs, false).unref());
  const clean = await Promise.race([ended, late]);
  if (!clean) server.kill("SIGKILL");
  return clean;
}
