import { expect, jest, test } from '@jest/globals';
import type { BrowserApi } from '../../browser/api.ts';
import { backgroundOf } from './background.ts';

type Runtime = Parameters<typeof backgroundOf>[0];

/** Returns a browser whose ports the test ends by hand. */
function fakeRuntime(send: (message: unknown) => unknown = () => ({})) {
  const ports: { name: string; tell: () => void; end: () => void; ended: boolean }[] = [];
  const runtime = {
    sendMessage: async (message: unknown) => send(message),
    connect: ({ name }: { name: string }) => {
      const listeners = { message: () => {}, end: () => {} };
      const port = {
        name,
        tell: () => listeners.message(),
        end: () => listeners.end(),
        ended: false,
      };
      ports.push(port);
      return {
        onMessage: { addListener: (listener: () => void) => (listeners.message = listener) },
        onDisconnect: { addListener: (listener: () => void) => (listeners.end = listener) },
        disconnect: () => (port.ended = true),
      };
    },
  } as unknown as Runtime & Pick<BrowserApi['runtime'], 'connect'>;
  return { runtime, ports };
}

test('a refused request is an error, and so is one without an answer', async () => {
  const refusing = backgroundOf(fakeRuntime(() => ({ failed: { message: 'full' } })).runtime);
  await expect(refusing.ask({ type: 'open-app' })).rejects.toMatchObject({
    message: 'full',
    answered: true,
  });
  const silent = backgroundOf(fakeRuntime(() => undefined).runtime);
  await expect(silent.ask({ type: 'open-app' })).rejects.toMatchObject({ answered: false });
  expect(await silent.ask({ type: 'picked-links', key: 'k' })).toBeUndefined();
  const nobody = fakeRuntime(() => {
    throw new Error('Could not establish connection. Receiving end does not exist.');
  });
  await expect(backgroundOf(nobody.runtime).ask({ type: 'open-app' })).rejects.toMatchObject({
    answered: false,
  });
});

test('a number of links that could not be added is not a refusal', async () => {
  const { runtime } = fakeRuntime(() => ({ added: 2, failed: 1 }));
  expect(await backgroundOf(runtime).ask({ type: 'add', links: [] })).toEqual({
    added: 2,
    failed: 1,
  });
});

test('an ended background is watched again, ever less often, until the page stops', () => {
  jest.useFakeTimers();
  try {
    const { runtime, ports } = fakeRuntime();
    const changed = jest.fn();
    const end = backgroundOf(runtime).watch(changed);
    expect(ports.map(({ name }) => name)).toEqual(['watch']);
    ports[0]?.tell();
    expect(changed).toHaveBeenCalledTimes(1);
    ports[0]?.end();
    jest.advanceTimersByTime(250);
    // Something may have changed while nobody watched.
    expect(changed).toHaveBeenCalledTimes(2);
    ports[1]?.end();
    jest.advanceTimersByTime(499);
    expect(ports).toHaveLength(2);
    jest.advanceTimersByTime(1);
    expect(ports).toHaveLength(3);
    end();
    expect(ports[2]?.ended).toBe(true);
    jest.advanceTimersByTime(60_000);
    expect(ports).toHaveLength(3);
  } finally {
    jest.useRealTimers();
  }
});
