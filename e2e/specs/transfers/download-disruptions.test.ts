/** Downloads over links that break: they resume, and fetch next to nothing twice. */

import type { ChildProcess } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, describe, expect, test } from '@jest/globals';
import { FaultOrigin } from '../../fixtures/faults/fault-origin.ts';
import { type Break, BreakingLink } from '../../fixtures/faults/faults-link.ts';
import { filesIn, runWatched, type WatchedResult } from '../../fixtures/faults/faults-run.ts';
import { type CliProcess, temporaryFolder } from '../../fixtures/programs/processes.ts';
import { LONGEST_WAIT_MS, until } from '../../fixtures/until.ts';

const BYTES = 4_000_000;
/** Most bytes that may come: 2% of redundant fetches, and a little for those under way. */
const MOST_BYTES = BYTES * 1.02 + 65_536;
/** Bytes that show whether two sources have the same file: six samples of 16 KiB from each. */
const SAMPLE_BYTES = 2 * 6 * 16 * 1024;

const origins: FaultOrigin[] = [];
const links: BreakingLink[] = [];
const origin = await newOrigin();
const folder = await temporaryFolder();
let downloads = 0;

afterAll(async () => {
  await Promise.all(links.map((link) => link.stop()));
  await Promise.all(origins.map((each) => each.stop()));
  await folder.remove();
});

async function newOrigin(): Promise<FaultOrigin> {
  const started = await FaultOrigin.start();
  origins.push(started);
  return started;
}

async function newLink(to = origin): Promise<BreakingLink> {
  const link = await BreakingLink.start(to.host);
  links.push(link);
  return link;
}

async function newFolder(): Promise<string> {
  const dir = join(folder.path, `download-${downloads++}`);
  await mkdir(dir);
  return dir;
}

/** A line of the program's output. */
type Line = Readonly<Record<string, unknown>> & { readonly event: string };

interface Ended extends WatchedResult {
  readonly lines: readonly Line[];
  readonly digest: string | undefined;
}

/** Downloads a file. @param onLine called with each line of the program's output */
async function download(
  url: string,
  options: readonly string[] = [],
  onLine: (line: Line, child: ChildProcess) => void = () => {},
  into?: string,
): Promise<Ended> {
  const dir = into ?? (await newFolder());
  const lines: Line[] = [];
  const listen = ({ child }: CliProcess) =>
    createInterface({ input: child.stdout as NodeJS.ReadableStream }).on('line', (text) => {
      const line = JSON.parse(text) as Line;
      lines.push(line);
      onLine(line, child);
    });
  const result = await runWatched(['get', url, '-d', dir, '--json', ...options], {
    withinMs: LONGEST_WAIT_MS,
    onStart: listen,
  });
  const { digests } = await filesIn(dir);
  return { ...result, lines, digest: digests.get('file.bin') };
}

/** Expects the whole file, and that little of it has been fetched twice. */
function expectWhole(ended: Ended, url: string, mostBytes = MOST_BYTES): void {
  expect(ended).toMatchObject({ code: 0, hung: false, digest: origin.digest(url) });
  const done = ended.lines.find(({ event }) => event === 'done');
  expect(done?.receivedBytes).toBeGreaterThanOrEqual(BYTES);
  expect(done?.receivedBytes).toBeLessThanOrEqual(mostBytes);
}

describe('resets', () => {
  test.concurrent.each([20_000, 100_000, 600_000])('after every %i bytes', async (bytes) => {
    const url = origin.url('none', { size: BYTES, seed: `every-${bytes}` });
    const link = await newLink();
    link.breaks = () => ({ phase: 'answer', bytes });
    const ended = await download(link.url(url), ['--connections', '4']);
    expectWhole(ended, url);
    expect(link.resets).toBeGreaterThanOrEqual(Math.floor(BYTES / bytes) - 4);
  });

  const every: Readonly<Record<string, (n: number) => Break | undefined>> = {
    'of the handshake': (n) =>
      n % 3 === 0 ? { phase: 'connect' } : { phase: 'answer', bytes: 400_000 },
    'before the answer': (n) =>
      n % 3 === 0 ? { phase: 'request' } : { phase: 'answer', bytes: 400_000 },
    'within the head': (n) => ({ phase: 'answer', bytes: n % 3 === 0 ? 20 : 400_000 }),
    'at the first byte of the body': (n) => ({
      phase: 'answer',
      bytes: n % 3 === 0 ? 260 : 400_000,
    }),
    'of the very first connections': (n) => (n < 3 ? { phase: 'connect' } : undefined),
  };
  test.concurrent.each(Object.keys(every))('%s', async (phase) => {
    const url = origin.url('none', { size: BYTES, seed: phase.replaceAll(' ', '-') });
    const link = await newLink();
    link.breaks = every[phase] as (n: number) => Break | undefined;
    const ended = await download(link.url(url), ['--connections', '4']);
    expectWhole(ended, url);
    expect(link.resets).toBeGreaterThan(1);
  });
});

describe('the network', () => {
  interface Outage {
    readonly origin: FaultOrigin;
    readonly link: BreakingLink;
    readonly url: string;
  }

  /** Starts an origin, behind a link, that sends the start of a file and holds back the rest. */
  async function outage(seed: string): Promise<Outage> {
    const far = await newOrigin();
    const link = await newLink(far);
    const url = far.url('gate', { size: BYTES, seed });
    return { origin: far, link, url };
  }

  /** Takes the network away once the beginning is stored. @returns tells whether it is gone */
  function takeAway({ origin: far, link }: Outage): (line: Line) => boolean {
    let gone = false;
    return ({ event, storedBytes }) => {
      if (!gone && event === 'progress' && Number(storedBytes) > 0 && far.waiting > 0) {
        gone = true;
        void link.down().then(() => far.openGate());
      }
      return gone;
    };
  }

  test.concurrent.each([1, 4, 8])('is gone and comes back: %i connections', async (connections) => {
    const o = await outage(`gone-${connections}`);
    const isGone = takeAway(o);
    let idle = 0;
    let before = 0;
    const options = ['--connections', String(connections)];
    const ended = await download(o.link.url(o.url), options, (line) => {
      // By the third report every connection has had time to notice.
      if (!isGone(line) || line.event !== 'progress' || ++idle !== 3) return;
      before = o.link.connections;
      void o.link.up();
    });
    expectWhole(ended, o.url);
    expect(o.link.connections).toBeGreaterThan(before);
  });

  test.concurrent('is gone when the computer has slept for longer than a download waits', async () => {
    const o = await outage('slept');
    const isGone = takeAway(o);
    let sleeps = false;
    const ended = await download(o.link.url(o.url), ['--retry-for', '8s'], (line, child) => {
      if (isGone(line) && !sleeps) {
        sleeps = true;
        child.kill('SIGSTOP');
        const since = performance.now();
        void until(() => performance.now() - since > 9000).then(() => child.kill('SIGCONT'));
      }
      // The network comes back once the process has noticed that it is away.
      if (line.event === 'state' && line.state === 'waiting-for-server') void o.link.up();
    });
    expectWhole(ended, o.url);
  });

  test.concurrent('is gone for good: an error in the end, and the next run resumes', async () => {
    const o = await outage('for-good');
    const isGone = takeAway(o);
    const dir = await newFolder();
    const first = await download(o.link.url(o.url), ['--retry-for', '1s'], isGone, dir);
    expect(first).toMatchObject({ code: 3, hung: false, digest: undefined });
    // The origin has another address meanwhile.
    const second = await download(o.url, [], undefined, dir);
    expect(second).toMatchObject({ code: 0, hung: false, digest: o.origin.digest(o.url) });
    const done = second.lines.find(({ event }) => event === 'done');
    expect(done?.resumedBytes).toBeGreaterThan(0);
    expect(Number(done?.receivedBytes) + Number(done?.resumedBytes)).toBeLessThan(MOST_BYTES);
  });
});

describe('the origin', () => {
  test('is replaced by another machine with the same file', async () => {
    // The first never sends the end of the file: bytes in no buffer yet must come from the other.
    const [first, other] = [await newOrigin(), await newOrigin()];
    other.openGate();
    const url = first.url('gate', { size: BYTES, seed: 'moved' });
    const link = await newLink(first);
    let moved = false;
    const ended = await download(link.url(url), [], ({ event, storedBytes }) => {
      if (moved || event !== 'progress' || storedBytes === 0 || first.waiting === 0) return;
      moved = true;
      link.target = other.host;
      link.reset();
    });
    expectWhole(ended, url);
    expect(other.sentBytes).toBeGreaterThan(0);
  });

  test('is replaced by one with another version: the whole new version is fetched', async () => {
    const url = origin.url('changed-in-the-middle', { size: BYTES, seed: 'moved-on' });
    const link = await newLink();
    link.breaks = () => ({ phase: 'answer', bytes: 700_000 });
    const ended = await download(link.url(url), ['--connections', '2']);
    expect(ended).toMatchObject({ code: 0, hung: false, digest: origin.digest(url, 2) });
  });
});

describe('a source that never finishes', () => {
  test.concurrent('drips from its first byte, and another is shown to have the same file', async () => {
    const [far, mirror] = [await newOrigin(), await newOrigin()];
    const file = { size: BYTES, seed: 'drip' };
    const url = far.url('drip', file);
    const ended = await download(url, ['--mirror', mirror.url('dates-only', file)]);
    expectWhole(ended, url, MOST_BYTES + SAMPLE_BYTES);
  });

  test.concurrent('drips from its first byte, and gives a digest of what it sends', async () => {
    const [far, mirror] = [await newOrigin(), await newOrigin()];
    const file = { size: BYTES, seed: 'drip-digest' };
    const url = far.url('drip-digest', file);
    const ended = await download(url, ['--mirror', mirror.url('none', file)]);
    expectWhole(ended, url, MOST_BYTES + SAMPLE_BYTES);
  });

  test.concurrent('drips, and another with a file of the same length is left out', async () => {
    const [far, other] = [await newOrigin(), await newOrigin()];
    const url = far.url('drip', { size: BYTES, seed: 'drip-one' });
    const mirror = other.url('dates-only', { size: BYTES, seed: 'drip-other' });
    const notes: Line[] = [];
    const ended = await download(url, ['--mirror', mirror, '--retry-for', '1s'], (line) => {
      if (line.event !== 'note') return;
      notes.push(line);
      // The link breaks, and stays so: the download has no source left.
      void far.stop();
    });
    expect(notes[0]).toMatchObject({ text: expect.stringContaining('other bytes') });
    expect(ended.code).toBeGreaterThan(0);
    expect(ended).toMatchObject({ hung: false, digest: undefined });
  });

  // The paper's basic algorithm does wait for them. Its others fetch whole blocks twice.
  test.concurrent.each([
    ['ours', [], MOST_BYTES],
    ['aggressive', ['--redundancy', 'aggressive', '--block-size', '256KiB'], 2 * BYTES],
    ['progress', ['--redundancy', 'progress', '--block-size', '256KiB'], 2 * BYTES],
  ] as const)(
    'does not keep the last bytes from coming: %s',
    async (redundancy, chosen, mostBytes) => {
      const far = await newOrigin();
      const mirror = await newOrigin();
      const file = { size: BYTES, seed: `drip-${redundancy}` };
      const url = far.url('drip~1r', file);
      const options = ['--mirror', mirror.url('none', file), ...chosen];
      const ended = await download(url, options);
      expectWhole(ended, url, mostBytes + SAMPLE_BYTES);
    },
  );
});
