import { describe, expect, test } from '@jest/globals';
import { MillraceError } from '@millrace/shared/base/errors';
import type { DownloadView } from '@millrace/shared/bridge/rpc/daemon-api';
import type { SourceStatus } from '@millrace/shared/bridge/rpc/detail-api';
import fc from 'fast-check';
import type { Style } from '../text/style.ts';
import { downloadTable, summary } from './download-table.ts';
import { ago, note, share, shortIdChars } from './download-words.ts';
import { infoText } from './info-text.ts';
import { formatWindow, nowText, parseWindow } from './schedule-text.ts';
import { changeLine, WatchModel } from './watch-model.ts';

const MiB = 2 ** 20;
const NOW = Date.UTC(2026, 0, 2, 3, 4, 5);
const plainStyle: Style = (_meaning, text) => text;

function download(part: Partial<DownloadView> = {}): DownloadView {
  return {
    gid: 'a1b2c3d4e5f60718',
    status: 'active',
    phase: 'running',
    name: 'debian.iso',
    dir: '/srv',
    urls: ['https://example.com/debian.iso'],
    length: 100 * MiB,
    storedBytes: 25 * MiB,
    receivedBytes: 25 * MiB,
    bytesPerSecond: 5 * MiB,
    etaMs: 15_000,
    connections: 8,
    priority: 0,
    createdAt: NOW - 3_600_000,
    attempts: 1,
    expiredLink: false,
    ...part,
  };
}

const FAILURE = {
  code: 'origin-denied',
  message: 'The origin refuses access',
  detail: '',
  advice: 'Get a new one.',
  retryable: false,
};

describe('downloads in words', () => {
  test.each([
    [{}, '0:15 left'],
    [{ etaMs: undefined }, ''],
    [{ phase: 'waiting-for-network' }, 'waiting for the network'],
    [{ phase: 'waiting-for-room' }, 'waiting for room on the disk'],
    [{ status: 'queued', position: 0 }, 'number 1'],
    [{ status: 'queued', position: 3, held: 'schedule' }, 'the schedule says to wait'],
    [
      { status: 'waiting', retryAt: NOW + 30_000, error: FAILURE },
      'The origin refuses access, again in 0:30',
    ],
    [{ status: 'waiting', retryAt: NOW - 5 }, 'again in 0:00'],
    [
      { status: 'error', error: FAILURE, expiredLink: true },
      'needs a new link: The origin refuses access',
    ],
    [
      {
        status: 'error',
        error: { ...FAILURE, code: 'origin-not-found', message: 'The origin has no such file' },
        expiredLink: true,
      },
      'The origin has no such file',
    ],
    [{ status: 'complete', finishedAt: NOW - 7_200_000 }, '2 h ago'],
    [{ status: 'paused' }, ''],
  ] as [Partial<DownloadView>, string][])('%j: %s', (part, text) => {
    expect(note(download(part), NOW)).toBe(text);
  });

  test.each([
    [{}, '25%'],
    [{ storedBytes: 100 * MiB - 1 }, '99%'],
    [{ length: 0, storedBytes: 0 }, '100%'],
    [{ length: undefined }, ''],
    [{ length: 10, storedBytes: 20 }, '100%'],
    [{ status: 'complete', length: undefined }, '100%'],
  ] as [Partial<DownloadView>, string][])('share of %j: %s', (part, text) => {
    expect(share(download(part))).toBe(text);
  });

  test('past times are told roughly, in the largest unit', () => {
    expect([0, 59_999, 60_000, 7_200_000, 5 * 86_400_000, -5].map(ago)).toEqual([
      'just now',
      'just now',
      '1 min ago',
      '2 h ago',
      '5 days ago',
      'just now',
    ]);
  });

  test('ids are shortened as far as they stay distinct', () => {
    expect(shortIdChars([])).toBe(6);
    expect(shortIdChars(['abcdef0000000000', 'abcdef1000000000', 'b'.repeat(16)])).toBe(7);
    const ids = fc.uniqueArray(fc.stringMatching(/^[ab]{16}$/), { maxLength: 40 });
    fc.assert(
      fc.property(ids, (all) => {
        const chars = shortIdChars(all);
        expect(new Set(all.map((id) => id.slice(0, chars))).size).toBe(all.length);
      }),
    );
  });
});

describe('the table', () => {
  const rows = [
    download(),
    download({ gid: 'ffffffffffffffff', status: 'queued', position: 0, name: '文件\x1b[31m.mkv' }),
  ];

  test('shows state, name, progress, size, speed and a note of each download', () => {
    const options = { now: NOW, width: 100, style: plainStyle };
    expect(downloadTable(rows, options)).toEqual([
      'ID      STATE   NAME           DONE     SIZE    SPEED  NOTE',
      'a1b2c3  active  debian.iso      25%  100 MiB  5 MiB/s  0:15 left',
      'ffffff  queued  文件\ufffd[31m.mkv   25%  100 MiB           number 1',
    ]);
  });

  test('shows the strips of files where they are known', () => {
    const strips = new Map([[rows[0]?.gid as string, [1, 0.5, 0]]]);
    const lines = downloadTable(rows, { now: NOW, width: 200, style: plainStyle, strips });
    expect(lines[1]).toContain(' █▒· ');
  });

  test('has a summary of one line', () => {
    expect(summary([], undefined)).toBe('no downloads');
    const all = [
      ...rows,
      download({ status: 'error' }),
      download({ status: 'complete' }),
      download({ status: 'removed' }),
    ];
    expect(summary(all, 20 * MiB)).toBe(
      '1 active, 1 queued, 1 failed, 2 finished, 5 MiB/s, limit 20 MiB/s',
    );
  });
});

describe('everything about one download', () => {
  test('lists facts, blocks, and sources with their state and reason', () => {
    const sources: SourceStatus[] = [
      {
        label: 'example.com',
        url: 'https://example.com/debian.iso',
        kind: 'origin',
        state: 'used',
        bytesPerSecond: 5 * MiB,
        receivedBytes: 25 * MiB,
        connections: 4,
        resets: 0,
      },
      {
        label: 'mirror.example',
        url: 'https://mirror.example/x',
        kind: 'mirror',
        state: 'quarantined',
        reason: 'it sent other bytes\x07',
        bytesPerSecond: 0,
        receivedBytes: 0,
        connections: 0,
        resets: 0,
      },
    ];
    const d = download({ receivedBytes: 26 * MiB, limit: MiB, priority: 2, category: 'images' });
    const lines = infoText({ download: d, sources, strip: [1, 0] }, NOW, 100, plainStyle);
    expect(lines).toEqual([
      'debian.iso',
      '  id          a1b2c3d4e5f60718',
      '  state       active, 25%, 5 MiB/s, 0:15 left',
      '  file        /srv',
      '  size        25 MiB of 100 MiB (26 MiB received)',
      '  blocks      █·',
      '  limit       1 MiB/s',
      '  priority    2',
      '  category    images',
      '  added       1 h ago',
      '  from        https://example.com/debian.iso',
      '',
      'STATE        KIND      SPEED  RECEIVED  REQUESTS  SOURCE          REASON',
      'used         origin  5 MiB/s    25 MiB         4  example.com',
      'quarantined  mirror                0 B         0  mirror.example  it sent other bytes\ufffd',
    ]);
  });

  test('a failed download comes with advice', () => {
    const d = download({ status: 'error', error: FAILURE, expiredLink: true });
    const text = infoText({ download: d, sources: [], strip: [] }, NOW, 80, plainStyle).join('\n');
    expect(text).toContain('\n\nThe origin refuses access.\nGet a new one.\n');
    expect(text).toContain('millrace url a1b2c3 URL');
  });

  test('a complete download shows its digest and how long it was active', () => {
    const d = download({
      status: 'complete',
      path: '/srv/debian.iso',
      // The download waited for most of the hour.
      startedAt: NOW - 3_600_000,
      finishedAt: NOW,
      activeMs: 10_000,
      digest: { algorithm: 'sha256', hex: 'ab' },
    });
    const text = infoText({ download: d, sources: [], strip: [1] }, NOW, 80, plainStyle).join('\n');
    expect(text).toContain('digest      sha-256=ab');
    expect(text).toContain('took        0:10, 10 MiB/s');
    expect(text).not.toContain('blocks');
  });
});

describe('watching', () => {
  test('prints a line per change of state, and none for mere progress', () => {
    const model = new WatchModel();
    expect(model.apply(download({ phase: 'starting', storedBytes: 0 }), NOW)).toBeDefined();
    expect(model.apply(download({ storedBytes: 30 * MiB }), NOW)).toBeUndefined();
    expect(model.apply(download({ phase: 'waiting-for-network' }), NOW)).toContain('network');
    expect(model.apply(download(), NOW)).toBe(
      'a1b2c3 active debian.iso: 25% of 100 MiB, 5 MiB/s, 0:15 left',
    );
    expect(model.apply(download({ status: 'complete', path: '/srv/x\x1b' }), NOW)).toBe(
      'a1b2c3 complete debian.iso: 100% of 100 MiB, /srv/x\ufffd',
    );
  });

  test('ignores downloads that were not asked for', () => {
    const model = new WatchModel(['a1b2c3d4e5f60718']);
    expect(model.apply(download({ gid: 'other' }), NOW)).toBeUndefined();
    expect(model.downloads).toHaveLength(0);
  });

  test('is over when no download continues by itself', () => {
    const model = new WatchModel();
    expect(model.isOver).toBe(true);
    model.apply(download(), NOW);
    model.apply(download({ gid: 'b', status: 'paused' }), NOW);
    expect(model.isOver).toBe(false);
    model.apply(download({ status: 'error' }), NOW);
    expect(model.isOver).toBe(true);
  });

  test('lists running downloads, then the queue in order, then finished ones, latest first', () => {
    const model = new WatchModel();
    const put = (gid: string, part: Partial<DownloadView>) =>
      model.apply(download({ gid, ...part }), NOW);
    put('old', { status: 'complete', finishedAt: 1 });
    put('new', { status: 'error', finishedAt: 2 });
    put('second', { status: 'queued', position: 1 });
    put('paused', { status: 'paused', position: 0 });
    put('first', { status: 'queued', position: 0 });
    put('runs', {});
    const order = ['runs', 'first', 'second', 'paused', 'new', 'old'];
    expect(model.downloads.map(({ gid }) => gid)).toEqual(order);
    model.forget('old');
    expect(model.downloads).toHaveLength(5);
  });

  test('draws no more lines than there is room for', () => {
    const model = new WatchModel();
    for (let i = 0; i < 30; i++) {
      model.apply(download({ gid: String(i).padStart(16, '0'), createdAt: i }), NOW);
    }
    const options = { now: NOW, width: 80, style: plainStyle };
    const frame = model.frame(10, undefined, options);
    expect(frame).toHaveLength(10);
    expect(frame.at(-1)).toBe('and 23 more');
    expect(model.frame(32, undefined, options)).toHaveLength(32);
    expect(model.frame(100, undefined, options)).toHaveLength(32);
  });

  test('keeps names within their line', () => {
    expect(changeLine(download({ name: 'a\nb' }), NOW)).not.toContain('\n');
  });
});

describe('the schedule', () => {
  test.each([
    ['mon-fri 8:00-18:00 2MiB/s', 'mon-fri 08:00-18:00 2MiB/s'],
    ['Daily 22:00 - 06:00 pause', 'daily 22:00-06:00 pause'],
    ['sat,sun 00:00-23:59 500K', 'sat,sun 00:00-23:59 500KiB/s'],
    ['fri-mon 10:00-11:00 pause', 'mon,fri-sun 10:00-11:00 pause'],
    ['mon 10:00-11:00 1234567', 'mon 10:00-11:00 1234567B/s'],
  ])('reads and writes %s', (text, written) => {
    expect(formatWindow(parseWindow(text))).toBe(written);
    expect(parseWindow(written)).toEqual(parseWindow(text));
  });

  test.each([
    '',
    'mon',
    'mon 10:00-11:00',
    'mon 24:00-11:00 pause',
    'mon 10:60-11:00 pause',
    'moon 10:00-11:00 pause',
    'mon- 10:00-11:00 pause',
    'mon-tue-wed 10:00-11:00 pause',
    'mon 10:00-11:00 0',
    'mon 10:00-11:00 fast',
  ])('%j is refused', (text) => {
    expect(() => parseWindow(text)).toThrow(MillraceError);
  });

  test('has its present effect in words', () => {
    expect(nowText({ now: 'free' })).toBe('downloads run freely');
    expect(nowText({ now: 'limit', limit: MiB })).toBe('downloads are limited to 1 MiB/s');
    const at = new Date(2026, 0, 4, 7, 5).getTime(); // a Sunday
    expect(nowText({ now: 'pause', nextChangeAt: at })).toBe('downloads wait until sun 07:05');
  });
});
