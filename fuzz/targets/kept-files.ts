/** The programs' own files, damaged by a crash, a person or another program. */

import fc from 'fast-check';
import { Settings } from '../../desktop/engine/settings/settings.ts';
import type { SettingStore } from '../../desktop/engine/store/small-stores.ts';
import { DownloadLog } from '../../desktop/engine/views/download-log.ts';
import { Sessions } from '../../desktop/engine/web/sessions.ts';
import { PREFETCH_FILE } from '../../edge/src/admin/prefetch-list.ts';
import { pathOfRecord, recordName, recordOfFile } from '../../edge/src/cache/disk-record.ts';
import { parseKept } from '../../edge/src/cache/kept-file.ts';
import { PIN_FILE } from '../../edge/src/cache/pins.ts';
import { MAX_CONCURRENT } from '../../shared/src/bridge/rpc/settings-api.ts';
import { mutatedJson, mutatedJsonText, mutatedText } from '../mutate.ts';
import { HEX64, NETWORK_PIN_SAMPLE, NOW, PIN } from '../samples.ts';
import { fuzzTarget, hold, holdEqual, readOrThrow, weightOf } from '../target.ts';

const PINS = { format: 1, pins: [PIN], network: [NETWORK_PIN_SAMPLE] };
const PREFETCHES = {
  format: 1,
  prefetches: [{ id: 'p1', askedAt: NOW, url: 'http://a.example/f', sha256: HEX64, rate: 5000 }],
};

/** Settings as the database stores them, by name. */
const SETTINGS = {
  limits: { limit: 5, concurrent: 3, perHost: 2 },
  schedule: [{ days: ['mon', 'tue'], fromMinute: 0, toMinute: 1439, effect: 'pause' }],
  categories: [{ name: 'a', folder: 'b', extensions: ['c'] }],
  aria2: { split: '5' },
  dir: '/tmp/a',
  edges: [{ url: 'http://a.example/', name: 'a', enabled: true }],
  app: {},
  sessions: [{ digest: HEX64, usedAt: NOW }],
};
const SOURCE = {
  ...{ label: 'a', url: 'http://a.example/f', kind: 'origin', state: 'used', bytesPerSecond: 0 },
  ...{ receivedBytes: 5, share: 1, connections: 0, resets: 0, rttMs: 1.5 },
};
const KEPT_LOG = {
  log: [
    { seq: 1, at: NOW, event: 'added' },
    { seq: 2, at: NOW, event: 'note', text: 'b', note: 'failed', values: { why: 'b', n: 1 } },
  ],
  last: {
    sources: [SOURCE],
    digests: [{ by: 'a', digest: { algorithm: 'sha256', hex: HEX64 } }],
    stored: [1, 2],
    by: [0, -1],
  },
};

/** An object whose length cannot be converted to a number, as zod does for lists. */
const NO_LENGTH = JSON.parse('{"length":{"toString":null}}') as object;

/** Makes a database that holds these settings. */
function storeOf(kept: unknown, onDamage = () => {}): SettingStore {
  const values = new Map<string, unknown>(
    typeof kept === 'object' && kept !== null ? Object.entries(kept) : [],
  );
  return {
    get: (name: string) => values.get(name),
    has: (name: string) => values.has(name),
    isDamaged: onDamage,
    set: (name: string, value: unknown) => values.set(name, value),
  } as unknown as SettingStore;
}

const settingsIn = (store: SettingStore) => {
  const { limits, windows, categories, aria2, dir, edges, app } = new Settings(store);
  return { limits, windows, categories, aria2, dir, edges, app };
};

export const targets = [
  fuzzTarget({
    name: 'edge-kept-lists',
    cases: mutatedJsonText([PINS, PREFETCHES]),
    found: [
      JSON.stringify({ ...PINS, network: NO_LENGTH }),
      JSON.stringify({ ...PREFETCHES, prefetches: NO_LENGTH }),
    ],
    check(text) {
      let sound = false;
      for (const schema of [PIN_FILE, PREFETCH_FILE]) {
        const read = readOrThrow(() => parseKept(schema, text));
        if (read === undefined) continue;
        sound = true;
        holdEqual(parseKept(schema, JSON.stringify(read)), read, 'it round-trips');
        hold(weightOf(read) <= 40 * text.length + 1000, 'memory is in proportion to the file');
      }
      if (!sound) return 'refused';
    },
    long: { 'brackets inside brackets': () => '['.repeat(2 ** 20) },
  }),
  fuzzTarget({
    name: 'edge-cache-files',
    cases: fc.tuple(
      mutatedText([pathOfRecord(recordName('a')).slice(0, 2)]),
      mutatedText([pathOfRecord(recordName('a')).slice(3)]),
    ),
    found: [
      ['ab', 'readme.txt'],
      ['ab', '..'],
      ['tmp', HEX64.slice(2)],
    ],
    check([folder, file]) {
      const name = recordOfFile(folder, file);
      if (name === undefined) return 'refused';
      hold(/^[0-9a-f]{64}$/.test(name), 'a record has the name that a key can give');
      hold(pathOfRecord(name) === `${folder}/${file}`, 'the record is the file that was found');
    },
  }),
  fuzzTarget({
    name: 'daemon-settings',
    cases: mutatedJson([SETTINGS]),
    found: Object.keys(SETTINGS).map((name): unknown => ({ ...SETTINGS, [name]: NO_LENGTH })),
    check(kept) {
      // The daemon must start, whatever its database contains.
      let damaged = typeof kept !== 'object' || kept === null;
      const store = storeOf(kept, () => {
        damaged = true;
      });
      const settings = settingsIn(store);
      const { limits, windows } = settings;
      hold(
        limits.concurrent >= 1 && limits.concurrent <= MAX_CONCURRENT,
        'some downloads run at a time, and not too many',
      );
      hold(limits.limit === undefined || limits.limit >= 1, 'a limit lets something through');
      for (const { days, fromMinute, toMinute } of windows)
        hold(
          days.length > 0 && [fromMinute, toMinute].every((at) => at >= 0 && at < 1440),
          'a window is within a day',
        );
      const again = { ...settings, schedule: settings.windows };
      holdEqual(settingsIn(storeOf(again)), settings, 'it round-trips');
      new Sessions(store, () => NOW);
      if (damaged) return 'refused';
    },
  }),
  fuzzTarget({
    name: 'download-log',
    cases: mutatedJson([KEPT_LOG]),
    found: [{ ...KEPT_LOG, log: NO_LENGTH }],
    check(kept) {
      let damaged = false;
      const downloadLog = new DownloadLog(kept, () => {
        damaged = true;
      });
      const before = downloadLog.log.length;
      downloadLog.note({ at: NOW, event: 'resumed' } as unknown as Parameters<
        DownloadLog['note']
      >[0]);
      const { log } = downloadLog;
      hold(log.length <= 200 && log.length <= before + 1, 'the log is bounded');
      hold(
        log.every(({ seq, at }) => Number.isFinite(seq + at)),
        'entries have number and time',
      );
      if (damaged) return 'refused';
    },
  }),
];
