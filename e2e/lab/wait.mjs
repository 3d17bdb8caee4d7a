/**
 * For `node --import`: reports on descriptor 4 that Node is loaded, and waits for a line. So the
 * measured time does not include the start of Node, which on one machine takes longer the more
 * programs start at once.
 */

import { readSync, writeSync } from 'node:fs';

writeSync(4, 'ready\n');

/** Time between two reads, milliseconds. Asynchronous waiting would leave handles behind. */
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
