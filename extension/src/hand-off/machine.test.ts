import { describe, expect, test } from '@jest/globals';
import type { BrowserDownload, HandOff, HandOffEvent } from './hand-off.ts';
import { begin, COMMIT_MS, DOUBT_MS, keptFile, PROOF_MS, RETRY_MS, step } from './machine.ts';

const PAUSED: BrowserDownload = { state: 'in_progress', paused: true, cancelled: false };
const RUNNING = { ...PAUSED, paused: false };
const COMPLETE: BrowserDownload = { ...RUNNING, state: 'complete' };
const CANCELLED: BrowserDownload = { state: 'interrupted', paused: false, cancelled: true };

const seen = (download: BrowserDownload | undefined): HandOffEvent => ({ type: 'seen', download });
const PROVEN: HandOffEvent = { type: 'proven' };
const COMMITTED: HandOffEvent = { type: 'committed', takenAs: 'x' };

/** Feeds events and delays (ms) to a new machine. @returns its final phase and all its actions */
function after(...events: (HandOffEvent | number)[]) {
  let now = 0;
  const first = begin(
    { id: 'a', download: { id: 1, begunAt: 0 }, pauses: true, takers: ['desktop', 'browser'] },
    now,
  );
  let handOff = first.next;
  const actions: string[] = [...first.actions];
  for (const event of events) {
    if (typeof event === 'number') {
      now += event;
      continue;
    }
    const next = step(handOff as HandOff, event, now);
    handOff = next.next;
    actions.push(...next.actions);
  }
  return { phase: handOff?.phase, takers: handOff?.takers, actions: actions.join(' ') };
}

describe('a hand-off', () => {
  test('ends the browser’s download last', () => {
    expect(
      after(seen(PAUSED), PROVEN, seen(PAUSED), COMMITTED, seen(PAUSED), seen(undefined)),
    ).toEqual({ phase: undefined, takers: undefined, actions: 'pause offer look commit look end' });
  });

  test('asks the next taker only if one is absent', () => {
    const absent: HandOffEvent = { type: 'not-proven', problem: 'absent' };
    expect(after(seen(PAUSED), absent)).toMatchObject({ phase: 'offering', takers: ['browser'] });
    expect(after(seen(PAUSED), absent, absent)).toMatchObject({ phase: 'restoring' });
    expect(after(seen(PAUSED), { type: 'not-proven', problem: 'different' })).toMatchObject({
      phase: 'restoring',
      actions: 'pause offer resume withdraw',
    });
  });

  test('lets the browser’s download continue when the proof takes too long', () => {
    expect(after(seen(PAUSED), PROOF_MS - 1, { type: 'tick' })).toMatchObject({
      phase: 'offering',
    });
    expect(after(seen(PAUSED), PROOF_MS, { type: 'tick' })).toMatchObject({ phase: 'restoring' });
  });

  test('keeps the browser’s download paused while in doubt, but not for ever', () => {
    const committing = [seen(PAUSED), PROVEN, seen(PAUSED), COMMIT_MS, { type: 'tick' }] as const;
    const silent: HandOffEvent = { type: 'told', state: undefined };
    expect(after(...committing, silent, RETRY_MS, { type: 'tick' })).toMatchObject({
      phase: 'asking',
      actions: 'pause offer look commit ask ask',
    });
    expect(after(...committing, silent, DOUBT_MS, { type: 'tick' })).toMatchObject({
      phase: 'doubtful',
      actions: 'pause offer look commit ask resume',
    });
  });

  test.each([
    ['has been cancelled', CANCELLED],
    ['is gone', undefined],
    ['is complete', COMPLETE],
  ])('is withdrawn if the browser’s download %s before the commit', (_, download) => {
    expect(after(seen(PAUSED), { type: 'changed', download })).toEqual({
      phase: undefined,
      takers: undefined,
      actions: 'pause offer withdraw',
    });
    expect(after(seen(PAUSED), PROVEN, seen(download)).actions).toBe('pause offer look withdraw');
  });

  test.each([
    ['has been cancelled', CANCELLED],
    ['is gone', undefined],
    ['is complete', COMPLETE],
    ['continues', RUNNING],
  ])('discards the taker’s download if the browser’s %s during the commit', (_, download) => {
    const events = [seen(PAUSED), PROVEN, seen(PAUSED), COMMITTED, seen(download)];
    expect(after(...events)).toMatchObject({
      phase: 'discarding',
      actions: 'pause offer look commit look discard',
    });
  });

  test('does not proceed if its state cannot be stored', () => {
    expect(after({ type: 'unsaved' })).toMatchObject({ phase: undefined });
    expect(after(seen(PAUSED), PROVEN, seen(PAUSED), { type: 'unsaved' })).toMatchObject({
      phase: 'restoring',
    });
  });
});

describe('when the taker’s download is discarded, the browser’s file', () => {
  const handOff = { download: { id: 1, begunAt: 0, path: '/home/u/Downloads/a.bin' } };

  test.each([
    ['is complete', COMPLETE],
    ['continues', RUNNING],
    ['has broken off by itself', { ...CANCELLED, cancelled: false }],
    ['is gone, complete or not', undefined],
  ])('stays if it %s', (_, download) => {
    expect(keptFile(handOff, download)).toBe(handOff.download.path);
  });

  test('is not kept if the user ended the download, or its path is not known', () => {
    expect(keptFile(handOff, CANCELLED)).toBeUndefined();
    expect(keptFile({ download: { id: 1, begunAt: 0 } }, COMPLETE)).toBeUndefined();
  });
});
