/** Downloads as the database stores them: rows of the list and of the trash. */

import { exportList } from '../../desktop/engine/downloads/exchange.ts';
import { newRecord } from '../../desktop/engine/downloads/new-download.ts';
import { targetOf } from '../../desktop/engine/queue/records.ts';
import { toRow } from '../../desktop/engine/store/download-row.ts';
import { type Row, readDownloadRow } from '../../desktop/engine/store/kept-record.ts';
import { type DownloadRecord, isFinished } from '../../desktop/engine/store/record.ts';
import { readTrashRow } from '../../desktop/engine/store/trash-store.ts';
import { mutatedJson } from '../mutate.ts';
import { HEX64, NOW } from '../samples.ts';
import { fuzzTarget, hold, holdEqual } from '../target.ts';

const around = { gid: '0123456789abcdef', dir: '/downloads', categories: [], now: NOW };
const QUEUED = newRecord(
  {
    urls: ['https://a.example/f.iso', 'http://b.example/f.iso'],
    headers: { cookie: 'a=b' },
    login: { user: 'u', password: 'p' },
    digests: [{ algorithm: 'sha256', hex: HEX64 }],
    pieces: { algorithm: 'sha1', pieceBytes: 65_536, hexes: ['ab', 'cd'] },
    aria2: { split: '5' },
    limit: 5000,
  },
  around,
);
const FAILED: DownloadRecord = {
  ...QUEUED,
  state: 'error',
  path: '/downloads/f.iso',
  length: 100,
  storedBytes: 50,
  startedAt: NOW,
  finishedAt: NOW + 1,
  error: { code: 'origin-gone', message: 'gone', detail: '' },
  digest: { algorithm: 'sha256', hex: HEX64 },
};
const LEFTOVER = { path: '/downloads/f.iso', kind: 'file', ino: 5, mtimeMs: 6.5 };

/** Makes a row of the table whose JSON columns are plain data, so that edits reach into them. */
function rowOf(record: DownloadRecord): object {
  const { request, options, error, digest, ...row } = toRow(record);
  const parts = { request, options, error, digest };
  const plain = Object.entries(parts).map(([name, json]) => [
    name,
    json === null ? null : JSON.parse(String(json)),
  ]);
  return { id: 1, ...row, ...Object.fromEntries(plain) };
}

/** Turns the row's plain data back into JSON: a table has only texts, numbers and NULL. */
function asRow(value: unknown): Row {
  const columns = Object.entries({ ...(value as object) }).map(([name, column]) => {
    const isPart = typeof column === 'object' && column !== null;
    return [name, isPart || typeof column === 'boolean' ? JSON.stringify(column) : column];
  });
  return Object.fromEntries(columns) as Row;
}

/** Uses a record in all the ways that the daemon does: none of them may fail. */
function use(record: DownloadRecord): void {
  const { state, finishedAt, request, storedBytes, receivedBytes, attempts, rank } = record;
  hold(/^[0-9a-f]{16}$/.test(record.gid), 'a gid is well formed');
  hold(isFinished(state) === (finishedAt !== undefined), 'a finished download has an end');
  for (const url of request.urls)
    hold(/^https?:$/.test(new URL(url).protocol), 'it can be fetched');
  for (const number of [storedBytes, receivedBytes, attempts])
    hold(Number.isSafeInteger(number) && number >= 0, 'amounts are whole numbers');
  hold(Number.isFinite(rank), 'it has a place in line');
  targetOf(record);
  for (const [name, column] of Object.entries(toRow(record)))
    hold(
      typeof column !== 'number' || name === 'rank' || Number.isSafeInteger(column),
      `${name} fits`,
    );
  exportList([record], 'aria2', true);
}

export const targets = [
  fuzzTarget({
    name: 'kept-download',
    cases: mutatedJson([rowOf(QUEUED), rowOf(FAILED)]),
    found: [
      { ...rowOf(FAILED), gid: '../..' },
      { ...rowOf(FAILED), request: '{' },
    ],
    check(value) {
      const read = readDownloadRow(asRow(value));
      if ('damage' in read) {
        hold(read.damage !== '', 'an error says what is wrong');
        return 'refused';
      }
      use(read.value);
      const again = readDownloadRow({ id: 1, ...toRow(read.value) } as unknown as Row);
      hold('value' in again, 'a record that was read can be stored');
      // Compares rows, because the table stores whole numbers.
      holdEqual(toRow(again.value), toRow(read.value), 'it round-trips');
    },
  }),
  fuzzTarget({
    name: 'kept-trash',
    cases: mutatedJson([
      {
        ...{ id: 1, gid: around.gid, batch: 'b', removed_at: NOW, bytes: 5, moved: 1 },
        ...{ record: FAILED, leftover: LEFTOVER },
      },
      {
        ...{ id: 2, gid: around.gid, batch: 'b', removed_at: NOW, bytes: 0, moved: 0 },
        ...{ record: QUEUED, leftover: null },
      },
    ]),
    check(value) {
      const read = readTrashRow(asRow(value));
      if ('damage' in read) return 'refused';
      const { gid, record, leftover, bytes } = read.value;
      use(record);
      hold(gid === record.gid, 'an entry of the trash has the gid of its download');
      hold(Number.isSafeInteger(bytes) && bytes >= 0, 'its size is a whole number');
      hold(leftover === undefined || /^[/\\A-Za-z]/.test(leftover.path), 'a path is absolute');
    },
  }),
];
