// The public Durable Streams server suite; the package's own command line finds no tests when it is installed.
import { runConformanceTests } from "@durable-streams/server-conformance-tests";
import { inject } from "vitest";
import { longPollTimeoutMs } from "./settings.js";

runConformanceTests({ baseUrl: inject("baseUrl"), longPollTimeoutMs });
