// How long the server under test holds a long-poll, and how long one test may take.
export const longPollTimeoutMs = 1_000;
export const testTimeoutMs = 15_000;
