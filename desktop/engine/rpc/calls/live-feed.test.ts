import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import type { LiveUpdate, WatchResult } from '@millrace/shared/bridge/rpc/live-api';
import { applyRowPatch } from '@millrace/shared/bridge/rpc/row-patch';
import { FakeDaemon, LENGTH, until } from '../../../testing/fake-daemon.ts';
import { settingsOf } from '../../views/app-settings.ts';
import { viewOf } from '../../views/view.ts';
import type { Subscriber } from './dispatcher.ts';
import { LiveFeed } from './live-feed.ts';

const INTERVAL_MS = 250;
let daemon: FakeDaemon;
let feed: LiveFeed;

/** A page that keeps the updates it receives. */
class FakePage implements Subscriber {
  readonly updates: LiveUpdate[] = [];
  isCongested = false;
  #onClosed: () => void = () => {};

  send(_method: string, [update]: readonly unknown[]): void {
    this.updates.push(JSON.parse(JSON.stringify(update)));
  }

  readonly onClosed = (listener: () => void) => {
    this.#onClosed = listener;
  };

  readonly congested = () => this.isCongested;

  watch(detail?: string): WatchResult {
    return feed.watch(this, { list: true, detail, cells: 4 });
  }

  leave(): void {
    this.#onClosed();
  }

  /** Takes the updates that were sent since the last call. */
  take(): LiveUpdate[] {
    return this.updates.splice(0);
  }

  /** Returns a row as the page has it after all patches so far. */
  row(gid: string): DownloadView | undefined {
    let row: DownloadView | undefined;
    for (const { rows = [] } of this.updates) {
      for (const patch of rows) if (patch.gid === gid) row = applyRowPatch(row, patch);
    }
    return row;
  }
}

beforeEach(() => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
  daemon = new FakeDaemon();
  const { manager, downloadLogs } = daemon;
  feed = new LiveFeed({
    shares: { listen: () => () => {}, view: () => undefined },
    manager,
    downloadLogs,
    settings: () => settingsOf(manager, undefined),
    clock: () => daemon.now,
  });
});
afterEach(async () => {
  feed.close();
  jest.useRealTimers();
  await daemon.remove();
});

function pass(ms: number): void {
  daemon.now += ms;
  jest.advanceTimersByTime(ms);
}
const shown = (gid: string) =>
  JSON.parse(JSON.stringify(viewOf(daemon.manager, daemon.manager.get(gid))));

test('nothing is sent and no timer runs while nothing changes', () => {
  const page = new FakePage();
  page.watch();
  pass(INTERVAL_MS);
  page.take();
  const timers = jest.getTimerCount();
  pass(10 * INTERVAL_MS);
  expect(page.take()).toEqual([]);
  page.leave();
  expect(jest.getTimerCount()).toBe(timers);
});

test('simultaneous changes are one message, and the next follows a quarter second later', () => {
  const page = new FakePage();
  const { revision } = page.watch();
  pass(INTERVAL_MS);
  page.take();
  const gids = Array.from({ length: 30 }, (_, i) => daemon.add(`d${i}`, { paused: true }));
  pass(INTERVAL_MS);
  const [update, ...more] = page.take();
  expect(more).toEqual([]);
  expect(update?.rows?.map(({ gid }) => gid)).toEqual(gids);
  expect(update?.revision).toBeGreaterThan(revision);
  expect(update?.totals?.byStatus).toMatchObject({ paused: 30, active: 0 });
  daemon.add('late', { paused: true });
  pass(0);
  daemon.add('later', { paused: true });
  pass(INTERVAL_MS - 1);
  expect(page.take().length).toBeLessThanOrEqual(1);
});

test('a page that applies the patches has the same row as the full view', async () => {
  const page = new FakePage();
  page.watch();
  const { gid, run } = await daemon.run('one');
  for (const bytes of [10, 500, 990]) {
    run.storedBytes = bytes;
    pass(INTERVAL_MS);
    expect(page.row(gid)).toEqual(shown(gid));
  }
  const sizes = page.updates.flatMap(({ rows = [] }) => rows.map((row) => 'urls' in row));
  // The row is sent whole once, and only its figures after that.
  expect(sizes.slice(1)).toContain(false);
  await run.complete();
  await until(() => daemon.manager.get(gid).state === 'complete');
  pass(INTERVAL_MS);
  expect(page.row(gid)).toEqual(shown(gid));
  expect(page.row(gid)?.etaMs).toBeUndefined();
});

test('new figures alone do not change the revision of the lists', async () => {
  const page = new FakePage();
  page.watch();
  const { run } = await daemon.run('one');
  pass(INTERVAL_MS);
  const before = feed.revision;
  run.storedBytes = 100;
  pass(INTERVAL_MS);
  expect(page.take().at(-1)?.rows?.length).toBe(1);
  expect(feed.revision).toBe(before);
});

test('too many changes are not sent one by one', () => {
  const page = new FakePage();
  page.watch();
  daemon.manager.atOnce(() => {
    for (let i = 0; i < 600; i++) daemon.add(`d${i}`, { paused: true });
  });
  pass(INTERVAL_MS);
  const [update] = page.take();
  expect(update?.incomplete).toBe(true);
  expect(update?.rows).toBeUndefined();
  expect(update?.totals?.byStatus.paused).toBe(600);
});

test('a page that does not read gets nothing, and learns later that it has missed updates', () => {
  const [slow, quick] = [new FakePage(), new FakePage()];
  slow.watch();
  quick.watch();
  pass(INTERVAL_MS);
  slow.take();
  slow.isCongested = true;
  daemon.add('one', { paused: true });
  pass(INTERVAL_MS);
  expect(slow.take()).toEqual([]);
  expect(quick.take().length).toBeGreaterThan(0);
  slow.isCongested = false;
  const two = daemon.add('two', { paused: true });
  pass(INTERVAL_MS);
  const [update] = slow.take();
  expect(update?.incomplete).toBe(true);
  expect(update?.rows?.map(({ gid }) => gid)).toEqual([two]);
});

test('forgotten downloads, notes and settings are sent', async () => {
  const page = new FakePage();
  page.watch();
  const { gid, run } = await daemon.run('one');
  run.note('by the way');
  daemon.manager.setLimits({ concurrent: 3 });
  pass(INTERVAL_MS);
  const sent = page.take();
  expect(sent.flatMap(({ notes = [] }) => notes)).toEqual([{ gid, text: 'by the way' }]);
  expect(sent.find(({ settings }) => settings !== undefined)?.settings?.limits.concurrent).toBe(3);
  await daemon.manager.remover.remove({
    gids: [gid],
    deletePartial: true,
    deleteFile: false,
    forget: true,
    now: true,
  });
  pass(INTERVAL_MS);
  expect(page.take().flatMap(({ gone = [] }) => gone)).toEqual([gid]);
});

describe('an open detail', () => {
  test('is sent whole at first, and then as changes', async () => {
    const page = new FakePage();
    const { gid, run } = await daemon.run('one');
    run.storedBytes = LENGTH / 4;
    const { detail } = page.watch(gid);
    expect(detail?.map).toMatchObject({ stored: [100, 0, 0, 0], by: [0, -1, -1, -1] });
    expect(detail?.log.map(({ event }) => event)).toEqual(['added', 'started', 'phase']);
    pass(INTERVAL_MS);
    page.take();
    run.storedBytes = LENGTH / 2 + LENGTH / 8;
    run.note('news');
    pass(INTERVAL_MS);
    const [patch] = page.take().flatMap((update) => update.detail ?? []);
    expect(patch?.map).toEqual({
      length: LENGTH,
      stored: [100, 100, 50, 0],
      by: [0, 0, 0, -1],
      arriving: [1, 2],
    });
    expect(patch?.newLog?.map(({ text }) => text)).toEqual(['news']);
    expect(patch).not.toHaveProperty('headers');
    pass(4 * INTERVAL_MS);
    const samples = page.take().flatMap((update) => update.detail?.newSpeed?.bytesPerSecond ?? []);
    expect(samples.length).toBeGreaterThan(0);
  });

  test('is sent only to the page that has it open, and only while it does', async () => {
    const [one, other] = [new FakePage(), new FakePage()];
    const { gid, run } = await daemon.run('one');
    one.watch(gid);
    other.watch();
    run.storedBytes = 500;
    pass(INTERVAL_MS);
    expect(one.take().some(({ detail }) => detail !== undefined)).toBe(true);
    expect(other.take().some(({ detail }) => detail !== undefined)).toBe(false);
    one.watch();
    run.storedBytes = 600;
    pass(INTERVAL_MS);
    expect(one.take().some(({ detail }) => detail !== undefined)).toBe(false);
    expect(() => one.watch('ffffffffffffffff')).toThrow(/no such download/);
  });
});
