// Runs the suite once, against one server, without the excluded groups.
import { defineConfig } from "vitest/config";
import { excluded } from "./excluded.js";
import { testTimeoutMs } from "./settings.js";

const escape = (text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");

export default defineConfig({
  test: {
    include: ["suite.test.js"],
    globalSetup: ["./server.js"],
    testNamePattern: new RegExp(`^(?!${excluded.map(escape).join("|")})`),
    testTimeout: testTimeoutMs,
    hookTimeout: testTimeoutMs,
    passWithNoTests: false,
  },
});
