import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { type AfterStep, afterRestart } from '@millrace/shared/download/after/after';
import { processState } from '../../local/process-state.ts';
import { ManagerStage, MINUTE, T0 } from '../../testing/manager-stage.ts';
import { changedAfter, NO_AFTER } from '../settings/after-settings.ts';
import { movedBefore } from './move-file.ts';

let stage: ManagerStage;
beforeEach(() => {
  stage = new ManagerStage();
});
afterEach(() => stage.clear());

/** A program for tests, as the words of a command: Node with a script. */
const script = (text: string, ...args: string[]) => [process.execPath, '-e', text, ...args];

const setCommand = (args: readonly string[], seconds = 60) => {
  const commands = [{ name: 'own', args: [...args], seconds }];
  stage.manager.settings.after = { ...stage.manager.settings.after, commands };
};

/** Completes the last download with these bytes on the disk, and waits until its actions have ended. */
async function complete(
  gid: string,
  bytes: string | Uint8Array = 'the file',
): Promise<readonly AfterStep[]> {
  await writeFile(stage.last().path, bytes);
  await stage.last().complete();
  return ended(gid);
}

/** Waits for the actions of a download by its events. */
async function ended(gid: string): Promise<readonly AfterStep[]> {
  const steps = () => stage.manager.get(gid).after ?? [];
  const isEnd = ({ state, retryAt }: AfterStep) =>
    state !== 'running' && (state !== 'waiting' || retryAt !== undefined);
  if (!steps().every(isEnd)) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = stage.manager.listen(() => steps().every(isEnd) && resolve());
    await promise;
    stop();
  }
  return steps();
}

/** Waits until the webhook of a download was tried this often, or has ended. */
async function attempted(gid: string, times: number): Promise<readonly AfterStep[]> {
  const step = () => stage.manager.get(gid).after?.[0];
  const isSo = () => step()?.state === 'done' || step()?.attempts === times;
  if (!isSo()) {
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = stage.manager.listen(() => isSo() && resolve());
    await promise;
    stop();
  }
  return stage.manager.get(gid).after ?? [];
}

/** Waits until a process has ended: a killed one may take a moment. */
async function hasEnded(pid: number): Promise<boolean> {
  while (processState(pid) !== 'gone') await new Promise((resolve) => setImmediate(resolve));
  return true;
}

/** Waits until a file is there. */
async function appears(path: string): Promise<void> {
  while (!existsSync(path)) await new Promise((resolve) => setImmediate(resolve));
}

const states = (steps: readonly AfterStep[]) =>
  steps.map(({ action, state }) => `${action} ${state}`);

test('a command gets path, name, URL without log-in and digest as arguments, whatever is in them', async () => {
  setCommand(
    script(
      'console.log(JSON.stringify([process.argv.slice(1), process.env.MILLRACE_TOKEN ?? "none"]))',
      '{path}|{name}',
      '{url}',
      '[{digest}]',
    ),
  );
  process.env.MILLRACE_TOKEN = 'secret';
  const name = '$(touch x) {url} `id` ;.bin';
  const gid = await stage.add({
    urls: ['http://u:p@a.example/x'],
    file: name,
    after: { run: 'own' },
  });
  const [step] = await complete(gid);
  delete process.env.MILLRACE_TOKEN;
  const path = join(stage.folder, name);
  expect(JSON.parse(step?.detail ?? '')).toEqual([
    [`${path}|${name}`, 'http://a.example/x', '[]'],
    'none',
  ]);
  expect(stage.manager.get(gid)).toMatchObject({ state: 'complete', error: undefined });
});

test('a command that fails leaves the download complete, and its output is kept, cut at its beginning', async () => {
  setCommand(script('process.stdout.write("a".repeat(1e6) + "the end", () => process.exit(3))'));
  const gid = await stage.add({ after: { run: 'own' } });
  const [step] = await complete(gid);
  expect(step).toMatchObject({ action: 'run', state: 'failed' });
  expect(step?.detail).toMatch(/^exit status 3\n… a+the end$/);
  expect(step?.detail?.length).toBeLessThanOrEqual(2000);
  expect(stage.manager.get(gid)).toMatchObject({ state: 'complete', error: undefined });
});

test('a command is killed when its time is over', async () => {
  setCommand(script('setInterval(() => {}, 1000)'), 1);
  const gid = await stage.add({ after: { run: 'own' } });
  const [step] = await complete(gid);
  expect(step).toMatchObject({
    state: 'failed',
    detail: 'ended after 1 s',
    particulars: { code: 'ended-after', values: { seconds: 1 } },
  });
});

test('a command is killed with its children when the daemon ends', async () => {
  const file = join(stage.folder, 'pids');
  const child = 'setInterval(() => {}, 1000)';
  setCommand(
    script(
      `const { pid } = require("child_process").spawn(process.execPath, ["-e", ${JSON.stringify(child)}]);
       const fs = require("fs");
       fs.writeFileSync(process.argv[1] + ".new", process.pid + " " + pid);
       fs.renameSync(process.argv[1] + ".new", process.argv[1]); ${child}`,
      file,
    ),
  );
  await stage.add({ after: { run: 'own' } });
  await writeFile(stage.last().path, 'the file');
  await stage.last().complete();
  await appears(file);
  const pids = (await readFile(file, 'utf8')).split(' ').map(Number);
  await stage.shut();
  for (const pid of pids) expect(await hasEnded(pid)).toBe(true);
  stage.open();
});

test('a moved file keeps its bytes, replaces none, and its download follows it', async () => {
  await mkdir(join(stage.folder, 'sorted'));
  await writeFile(join(stage.folder, 'sorted', 'x.bin'), 'another file');
  const gid = await stage.add({ after: { move: 'sorted' } });
  const steps = await complete(gid);
  const path = join(stage.folder, 'sorted', 'x.1.bin');
  expect(steps).toEqual([{ action: 'move', state: 'done', with: 'sorted', detail: path }]);
  expect(stage.manager.get(gid)).toMatchObject({ path, name: 'x.1.bin', state: 'complete' });
  expect(await readFile(path, 'utf8')).toBe('the file');
  expect(await readFile(join(stage.folder, 'sorted', 'x.bin'), 'utf8')).toBe('another file');
  expect(await readdir(join(stage.folder, 'sorted'))).toHaveLength(2);
});

test('after a failed move no command runs, and the download stays complete', async () => {
  await writeFile(join(stage.folder, 'taken'), 'a file where the folder should be');
  setCommand(script(''));
  const gid = await stage.add({ after: { run: 'own', move: 'taken/below' } });
  expect(states(await complete(gid))).toEqual(['move failed', 'run skipped']);
  expect(stage.manager.get(gid)).toMatchObject({ state: 'complete', error: undefined });
});

test('the rule of a category holds unless the download has a choice of its own', async () => {
  const { settings } = stage.manager;
  settings.after = changedAfter(
    NO_AFTER,
    { rules: [{ category: 'images', move: 'isos' }, { move: 'rest' }] },
    ['images'],
  );
  const image = await stage.add({ file: 'x.iso' });
  expect(await complete(image)).toMatchObject([{ state: 'done', with: 'isos' }]);
  const other = await stage.add({ file: 'y.txt' });
  expect(await complete(other)).toMatchObject([{ state: 'done', with: 'rest' }]);
  const own = await stage.add({ file: 'z.iso', after: {} });
  expect(await complete(own)).toEqual([]);
});

test('no action is carried out twice: one that the end of the daemon interrupted is said to be so', async () => {
  const file = join(stage.folder, 'runs');
  setCommand(
    script(
      'require("fs").appendFileSync(process.argv[1], "ran\\n"); setInterval(() => {}, 1000)',
      file,
    ),
  );
  const gid = await stage.add({ after: { move: 'sorted', run: 'own', open: true } });
  await writeFile(stage.last().path, 'the file');
  const written = appears(file);
  await stage.last().complete();
  await written;
  await stage.shut();
  stage.open();
  expect(states(await ended(gid))).toEqual(['move done', 'run interrupted', 'open skipped']);
  await stage.shut();
  stage.open();
  expect(states(await ended(gid))).toEqual(['move done', 'run interrupted', 'open skipped']);
  expect(await readFile(file, 'utf8')).toBe('ran\n');
});

test('moves and extractions that the end of the daemon interrupted are repeated, but not for ever', () => {
  const running = (action: AfterStep['action'], attempts?: number): AfterStep => ({
    ...{ action, state: 'running', attempts },
  });
  const actions = ['move', 'extract', 'run', 'open', 'webhook'] as const;
  const after = afterRestart(actions.map((action) => running(action)));
  expect(states(after)).toEqual([
    ...['move waiting', 'extract waiting', 'run interrupted', 'open interrupted'],
    'webhook waiting',
  ]);
  expect(states(afterRestart([running('extract', 2), running('webhook', 5)]))).toEqual([
    ...['extract interrupted', 'webhook waiting'],
  ]);
});

test('a move that was interrupted after its rename is found again by its digest, and no other file is', async () => {
  const { signal } = new AbortController();
  const path = join(stage.folder, 'x.bin');
  const folder = join(stage.folder, 'sorted');
  const bytes = Buffer.from('the file');
  const hex = createHash('sha256').update(bytes).digest('hex');
  const file = { length: bytes.length, digest: { algorithm: 'sha256', hex } } as const;
  await mkdir(folder);
  await writeFile(join(folder, 'x.bin'), 'not that');
  expect(await movedBefore(path, folder, file, signal)).toBeUndefined();
  await writeFile(join(folder, 'x.1.bin'), bytes);
  // Between disks there is a copy for a moment.
  await writeFile(path, bytes);
  expect(await movedBefore(path, folder, file, signal)).toBe(join(folder, 'x.1.bin'));
  expect(existsSync(path)).toBe(false);
  expect(await movedBefore(path, folder, { ...file, digest: undefined }, signal)).toBeUndefined();
});

describe('the webhook', () => {
  const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
  const set = (url: string) => {
    stage.manager.settings.after = changedAfter(NO_AFTER, { webhook: { url, secret } }, []);
  };

  test('gets a signed message, again with the same id after a failure, and no log-in', async () => {
    const got: { fields: NodeJS.Dict<string | string[]>; body: string }[] = [];
    const statuses = [503, 302, 204];
    const server = createServer(async (request, response) => {
      got.push({ fields: request.headers, body: await text(request) });
      response.writeHead(statuses[got.length - 1] ?? 500, { location: '/elsewhere' }).end();
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    try {
      set(`http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`);
      const gid = await stage.add({ urls: ['http://u:p@a.example/x'], after: { webhook: true } });
      expect(await complete(gid)).toMatchObject([{ state: 'waiting', attempts: 1 }]);
      stage.now += MINUTE;
      stage.manager.settingsChanged();
      expect(await attempted(gid, 2)).toMatchObject([{ state: 'waiting', detail: 'answer 302' }]);
      // A new daemon goes on with the same message.
      await stage.shut();
      stage.open();
      stage.now += 10 * MINUTE;
      stage.manager.settingsChanged();
      expect(await attempted(gid, 3)).toMatchObject([{ state: 'done', detail: 'answer 204' }]);
      expect(got).toHaveLength(3);
      for (const { fields, body } of got) {
        const id = `msg_${gid}_${T0}`;
        const mac = createHmac('sha256', Buffer.alloc(32, 7));
        mac.update(`${id}.${fields['webhook-timestamp']}.${body}`);
        expect(fields['webhook-signature']).toBe(`v1,${mac.digest('base64')}`);
        expect(fields['webhook-id']).toBe(id);
        expect(JSON.parse(body)).toMatchObject({
          type: 'download.completed',
          data: { gid, url: 'http://a.example/x', length: 100 },
        });
      }
      const times = got.map(({ fields }) => Number(fields['webhook-timestamp']) - T0 / 1000);
      expect(times).toEqual([0, 60, 660]);
    } finally {
      server.close();
    }
  });

  test('keeps its secret only for its address', () => {
    set('https://one.example/');
    const { after } = stage.manager.settings;
    const to = (url: string) => changedAfter(after, { webhook: { url } }, []).webhook;
    expect(to('https://one.example/')).toEqual({ url: 'https://one.example/', secret });
    expect(() => to('https://two.example/')).toThrow(/a secret is needed/);
  });
});

test('an archive that cannot be extracted leaves the download complete, and no folder', async () => {
  const gid = await stage.add({ file: 'set.tar', after: { extract: true } });
  const steps = await complete(gid, 'no tar, although its name says so'.repeat(100));
  expect(states(steps)).toEqual(['extract failed']);
  expect(stage.manager.get(gid)).toMatchObject({ state: 'complete', error: undefined });
  const left = (await readdir(stage.folder)).filter((name) => !name.startsWith('downloads.db'));
  expect(left).toEqual(['set.tar']);
});
