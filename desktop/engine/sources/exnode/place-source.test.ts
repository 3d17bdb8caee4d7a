import { expect, test } from '@jest/globals';
import type { ByteRange } from '@millrace/shared/base/byte-range';
import { MillraceError } from '@millrace/shared/base/errors';
import { SourceHealth } from '@millrace/shared/download/transfer/source-health';
import type { DownloadSource } from '../download-source.ts';
import { PlaceSource } from './place-source.ts';

const signal = new AbortController().signal;
const etag = '"v1"';

/** A place with two allocations, the second with bytes in the middle of a larger file. */
function placeOf(gone: ReadonlySet<string> = new Set()) {
  const asked: string[] = [];
  const open = (url: string) => {
    const file = {
      version: undefined,
      async openRange(range: ByteRange, pinned: { validators: object } | undefined) {
        asked.push(`${url} ${range.start}-${range.end} ${JSON.stringify(pinned?.validators)}`);
        if (gone.has(url)) throw new MillraceError('origin-not-found');
        const read = (sink: (at: number, bytes: Uint8Array) => unknown) =>
          sink(range.start + 2, new Uint8Array(3));
        return { kind: 'range', range, version: { length: 99, validators: { etag } }, read };
      },
    };
    return file as unknown as DownloadSource;
  };
  const parts = [
    { start: 0, end: 10, url: 'http://a.example/1', at: 0 },
    { start: 10, end: 20, url: 'http://a.example/2', at: 50 },
  ];
  const place = { origin: 'http://a.example', parts };
  const health = new SourceHealth(() => 0.5);
  return { source: new PlaceSource({ place, index: 3, health, open }), asked };
}

test('a place asks for the bytes of a part where its URL has them, of one version', async () => {
  const { source, asked } = placeOf();
  expect([source.id, source.host, source.isAdmitted]).toEqual([
    ...['http://a.example#3', 'a.example', true],
  ]);
  for (let i = 0; i < 2; i++) {
    const opened = await source.openRange({ start: 12, end: 18 }, undefined, signal);
    expect(opened).toMatchObject({ kind: 'range', range: { start: 12, end: 18 } });
    const got: number[] = [];
    await opened.read((at, bytes) => void got.push(at, bytes.length));
    expect(got).toEqual([14, 3]);
  }
  expect(asked).toEqual([
    'http://a.example/2 52-58 undefined',
    `http://a.example/2 52-58 {"etag":"\\"v1\\""}`,
  ]);
});

test('a place that has lost a part keeps the others, and fails with the last', async () => {
  const { source } = placeOf(new Set(['http://a.example/1', 'http://a.example/2']));
  const ask = (start: number) => source.openRange({ start, end: start + 5 }, undefined, signal);
  await expect(ask(0)).rejects.toMatchObject({ code: 'origin-error' });
  expect(source.parts.map(({ start }) => start)).toEqual([10]);
  // A request that was chosen before the loss was known.
  await expect(ask(0)).rejects.toMatchObject({ code: 'origin-error' });
  await expect(ask(10)).rejects.toMatchObject({ code: 'origin-not-found' });
});
