/**
 * For `node --import`: loads the modules that LAB_PRELOAD names (URLs, separated by spaces),
 * reports that on descriptor 4, and waits for a line. The measured time then excludes the start of
 * Node, which takes longer the more programs start at once on one machine, as it would not on
 * separate machines.
 */

import { readSync, writeSync } from 'node:fs';

for (const url of (process.env.LAB_PRELOAD ?? '').split(' ')) {
  if (url !== '') await import(url);
}
writeSync(4, 'ready\n');

/** Pause between two looks, milliseconds. Waiting in Node's own way would leave a handle behind. */
const PAUSE_MS = 5;
const pause = new Int32Array(new SharedArrayBuffer(4));
for (const line = new Uint8Array(16); ; Atomics.wait(pause, 0, 0, PAUSE_MS)) {
  try {
    readSync(0, line);
    break;
  } catch (error) {
    if (error.code !== 'EAGAIN') throw error;
  }
}
