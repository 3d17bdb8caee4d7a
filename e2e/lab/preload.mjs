/**
 * For `node --import`: loads the modules that LAB_PRELOAD names (URLs, separated by spaces), tells that on
 * descriptor 4, and waits for a line. What the program does then is not the start of Node, of which
 * many at once on one machine take the longer the more there are, as they would not on machines of
 * their own.
 */

import { readSync, writeSync } from 'node:fs';

for (const url of (process.env.LAB_PRELOAD ?? '').split(' ')) {
  if (url !== '') await import(url);
}
writeSync(4, 'ready\n');

/** Between two looks, milliseconds. Waiting in Node's own way would leave something behind. */
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
