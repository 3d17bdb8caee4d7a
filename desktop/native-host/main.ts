/**
 * The native host: a browser starts it for our extension, speaks to it on its standard input and
 * output, and closes them when the host is no longer wanted. Only frames are ever written to
 * standard output.
 */

import { Console } from 'node:console';
import { once } from 'node:events';
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { EXIT } from '@millrace/shared/base/errors';
import type { NativeMessage } from '@millrace/shared/bridge/native/native-api';
import { makeStateFolder } from '../local/daemon-address.ts';
import { stateFolder } from '../local/local-edge.ts';
import { isOurExtension } from './caller.ts';

/** Most requests that are answered at a time; the browser waits with more. */
const MAX_AT_A_TIME = 128;
/** Unread bytes above which the browser gets no further notifications. */
const CONGESTED_BYTES = 64 * 1024;

// Printed text must not get between the messages.
globalThis.console = new Console(process.stderr, process.stderr);
// An error means that the browser has gone.
process.stdout.on('error', () => process.exit(EXIT.ok));

if (isOurExtension(process.argv.slice(2))) await serve(stateFolder());
else {
  process.stderr.write('Only the Millrace extension of a browser can use this program.\n');
  process.exitCode = EXIT.usage;
}

async function serve(state: string): Promise<void> {
  // If the folder cannot be made, every answer says so.
  await makeStateFolder(state).catch(() => {});
  enableCompileCache(join(state, 'compile-cache'));
  const { FrameReader, encodeFrame } = await import('./frames.ts');
  const { failureOf, NativeHost } = await import('./host.ts');
  const { EngineLink } = await import('./engine-link.ts');
  const send = (message: NativeMessage) => process.stdout.write(encodeFrame(message));
  let missed = false;
  const changed = () => {
    missed = process.stdout.writableLength > CONGESTED_BYTES;
    if (!missed) send({ event: 'changed' });
  };
  process.stdout.on('drain', () => missed && changed());
  const engine = new EngineLink({
    state,
    start: async () => (await import('./daemon-program.ts')).startDaemon(state),
    onChanged: changed,
    onEnded: () => send({ event: 'ended' }),
  });
  const openApp = async () => (await import('./app.ts')).openApp(engine);
  const host = new NativeHost({ engine, openApp });
  const running = new Set<Promise<void>>();
  const answer = async (message: unknown) => {
    if (!send(await host.answer(message))) await once(process.stdout, 'drain');
  };
  const reader = new FrameReader();
  for await (const piece of process.stdin) {
    for (const frame of reader.push(piece as Buffer)) {
      if ('error' in frame) {
        send({ id: 0, error: failureOf(frame.error) });
        continue;
      }
      const task: Promise<void> = answer(frame.message).finally(() => running.delete(task));
      running.add(task);
      if (running.size >= MAX_AT_A_TIME) await Promise.race(running);
    }
  }
  engine.close();
  process.exit(EXIT.ok);
}
