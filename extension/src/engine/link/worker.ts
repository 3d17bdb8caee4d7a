/** Worker that runs the engine: only workers can write files synchronously. */

import { isMillraceError } from '@millrace/shared/base/errors';
import { tryRead } from '@millrace/shared/schema/read';
import { type EngineMessage, requestSchema } from '../../contract/protocol.ts';
import { Engine } from '../downloads/engine.ts';
import { StoredRecords } from '../records/record-database.ts';
import { asTakerError } from '../sources/proof.ts';
import { OpfsFiles } from '../storage/opfs.ts';

const TICK_MS = 250;

const emit = (message: EngineMessage) => postMessage(message);

/** Resolves when the previous worker has ended and released its files. */
const alone = new Promise<void>((resolve) => {
  void navigator.locks.request('engine', () => {
    resolve();
    return new Promise(() => {});
  });
});

const engine = alone.then(async () =>
  Engine.open({
    records: await StoredRecords.open(),
    files: await OpfsFiles.open(),
    fetch: (url, init) => fetch(url, init),
    estimate: () => navigator.storage.estimate(),
    uuid: () => crypto.randomUUID(),
    random: Math.random,
    now: () => performance.now(),
    wallNow: () => Date.now(),
    wait,
    emit,
  }),
);

engine.then((running) => {
  setInterval(() => running.tick(), TICK_MS);
  addEventListener('online', () => running.retryNow());
}, reportError);

addEventListener('message', ({ data }: MessageEvent<unknown>) => void answer(data));

async function answer(data: unknown): Promise<void> {
  const request = tryRead(requestSchema, data);
  if (!request.success) return;
  const { id, call } = request.data;
  try {
    const result = await (await engine).call(call);
    emit({ id, result });
  } catch (thrown) {
    const { problem, message, code } = asTakerError(thrown);
    emit({ id, failed: { problem, message, code } });
    if (!isMillraceError(thrown)) console.error(thrown);
  }
}

function wait(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}
