/** Right and wrong answers of servers, and the file that the page makes of them, with real cryptography. */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { describe, expect, test } from '@jest/globals';
import { BodyCipher } from '../../../desktop/engine/seal/body-cipher.ts';
import { keysOf, newKey } from '../../../desktop/engine/seal/file-keys.ts';
import { sealHead } from '../../../desktop/engine/seal/sealed-head.ts';
import { plainPieces } from './body.js';
import { type Description, rootBytes } from './exnode.js';
import { Failure, worstOf } from './failure.js';
import { openHead, readKey, safeName } from './head.js';
import { descriptionAt, wholeAt } from './links.js';
import { availableUntil, mayAsk, RUN_BYTES, runsOf, type Source } from './runs.js';

const MIB = 1024 * 1024;
const WHOLE = 'https://whole.example/-/f/1/2/encrypted';
const PAGE = 'https://a.example/-/d/x/y/encrypted.exnode';
const [A, B, C] = ['a', 'b', 'c'].map((host) => `https://${host}.example/-/d/1/2/encrypted`) as [
  string,
  string,
  string,
];

/** Makes an encrypted file. @param urls of whole copies */
function sealedFile(bytes: number, ...urls: readonly string[]) {
  const key = newKey();
  const plain = Buffer.alloc(bytes, 'Millrace carries water to the mill. ');
  const body = new BodyCipher(keysOf(key).body).apply(0, plain);
  const sha256 = (of: Uint8Array) => createHash('sha256').update(of).digest();
  const blocks = Array.from({ length: Math.ceil(bytes / MIB) }, (_, i) =>
    sha256(body.subarray(i * MIB, (i + 1) * MIB)),
  );
  const shape = { size: bytes, blockBytes: MIB, digests: new Uint8Array(Buffer.concat(blocks)) };
  const root = sha256(rootBytes(shape)).toString('hex');
  const head = { name: 'talk.tar', sha256: sha256(plain).toString('hex'), root };
  const parts = urls.map((url) => ({ start: 0, end: bytes, url, at: 0, expires: undefined }));
  const sealed = new Uint8Array(sealHead(key, head));
  const description: Description = { ...shape, root, sealed, isCoded: false, parts };
  return { key: new Uint8Array(key), plain, body, description };
}

type Answers = (source: Source, bytes: number) => Uint8Array | Failure | 'silent';

/** Reads a file whose servers answer so. @returns the plain file, and the hosts asked in order */
async function received(
  { description, key }: Pick<ReturnType<typeof sealedFile>, 'description' | 'key'>,
  answers: Answers,
  whole?: string,
) {
  const asked: string[] = [];
  const came = { bytes: 0 };
  const { bodyKey } = await openHead(description, key);
  const pieces: Uint8Array[] = [];
  const options = {
    ...{ description, key: bodyKey, page: PAGE, whole, now: () => 0, pause: async () => {} },
    signal: new AbortController().signal,
    onBytes: (more: number) => {
      came.bytes += more;
    },
    fetchRange: async (
      source: Source,
      bytes: number,
      until: AbortSignal,
      onBytes: (n: number) => void,
      onSilent: () => void,
    ) => {
      asked.push(new URL(source.url).host[0] as string);
      const answer = answers(source, bytes);
      if (answer instanceof Failure) throw answer;
      if (answer === 'silent') {
        onBytes(7);
        onSilent();
        await once(until, 'abort');
        throw new Failure('unreachable');
      }
      onBytes(answer.length);
      return new Uint8Array(answer);
    },
  };
  for await (const piece of plainPieces(options)) pieces.push(piece);
  return { plain: Buffer.concat(pieces), asked: asked.join(''), came: came.bytes };
}

const from =
  (body: Buffer): Answers =>
  ({ at }, bytes) =>
    body.subarray(at, at + bytes);

test('a page knows the places of its file by its own address, and tells none the key', () => {
  const at = (kind: string, name: string) =>
    `https://a.example/-/${kind}/${'i'.repeat(16)}/${'s'.repeat(32)}/${name}`;
  for (const link of [at('f', 'encrypted#k.abc'), at('d', 'encrypted.exnode#k.abc/d')]) {
    expect(descriptionAt(link)).toBe(at('d', 'encrypted.exnode'));
    expect(wholeAt(link)).toBe(at('f', 'encrypted'));
  }
  expect(wholeAt('https://a.example/other#k.abc')).toBeUndefined();
});

test('a key is read only whole', () => {
  const key = newKey();
  const text = `#k.${Buffer.from(key).toString('base64url')}`;
  expect(Buffer.from(readKey(text))).toEqual(Buffer.from(key));
  for (const bad of [
    '',
    '#',
    `${text}A`,
    text.slice(0, -1),
    text.replace('k', 'r'),
    text.slice(1),
  ]) {
    expect(() => readKey(bad)).toThrow('no-key');
  }
});

describe('a head', () => {
  test('is opened by its key alone, and only with its own digests', async () => {
    const file = sealedFile(3 * MIB + 5, A);
    expect(await openHead(file.description, file.key)).toMatchObject({ name: 'talk.tar' });
    const other = sealedFile(3 * MIB + 5, A);
    const kindOf = async (description: Description, key: Uint8Array) =>
      openHead(description, new Uint8Array(key)).then(
        () => 'opened',
        (error) => (error as Failure).kind,
      );
    expect(await kindOf(file.description, other.key)).toBe('wrong-key');
    const { sealed, digests, root } = other.description;
    const swapped = { ...file.description, sealed };
    expect(await kindOf(swapped, file.key)).toBe('wrong-key');
    // The head of another file under the same key, and digests that somebody has exchanged.
    const forged = new Uint8Array(
      sealHead(file.key, { name: 'x', sha256: 'ab'.repeat(32), root: 'cd'.repeat(32) }),
    );
    expect(await kindOf({ ...file.description, sealed: forged }, file.key)).toBe('bad-exnode');
    expect(await kindOf({ ...file.description, digests }, file.key)).toBe('bad-exnode');
    expect(await kindOf({ ...file.description, digests, root }, file.key)).toBe('bad-exnode');
    expect(await kindOf({ ...file.description, sealed: undefined }, file.key)).toBe('bad-exnode');
    const right = file.description.sealed as Uint8Array;
    for (let bit = 0; bit < 8 * right.length; bit += 37) {
      const changed = new Uint8Array(right);
      changed[bit >> 3] = (changed[bit >> 3] as number) ^ (1 << (bit & 7));
      expect(await kindOf({ ...file.description, sealed: changed }, file.key)).toBe('wrong-key');
    }
  });

  test('names no path, hides nothing, and keeps the kind of the file', () => {
    expect(safeName('../../etc/passwd')).toBe('passwd');
    expect(safeName('C:\\a\\b.txt')).toBe('b.txt');
    expect(safeName('..')).toBe('download');
    expect(safeName('photo\u202egnp.exe')).toBe('photognp.exe');
    expect(safeName(`${'a'.repeat(500)}.tar.gz`)).toMatch(/^a{113}\.tar\.gz$/);
    expect(safeName('Kündigung – 1.pdf')).toBe('Kündigung – 1.pdf');
  });
});

describe('a body', () => {
  test('is decrypted from any offset of any run', async () => {
    for (const bytes of [0, 1, 15, MIB, MIB + 1, RUN_BYTES, 2 * RUN_BYTES + MIB + 17]) {
      const file = sealedFile(bytes, A);
      const { plain, came } = await received(file, from(file.body));
      expect([bytes, plain.equals(file.plain), came]).toEqual([bytes, true, bytes]);
    }
  });

  test('comes from another place when one sends a flipped bit, and that one is asked last', async () => {
    const file = sealedFile(4 * RUN_BYTES, A, B);
    const wrong = Buffer.from(file.body);
    wrong[5] = (wrong[5] as number) ^ 1;
    const { plain, asked, came } = await received(file, (source, bytes) =>
      from(source.url === A ? wrong : file.body)(source, bytes),
    );
    expect([plain.equals(file.plain), came]).toEqual([true, file.plain.length]);
    // Three runs are asked for at once; the fourth knows who has sent wrong bytes.
    expect(asked).toBe('aaabb');
  });

  test.each([
    ['damaged', () => Buffer.alloc(RUN_BYTES)],
    ['expired', () => new Failure('expired')],
    ['revoked', () => new Failure('revoked')],
    ['unreachable', () => new Failure('unreachable')],
  ])('ends as %s, without the bytes of that run, if no place has it', async (kind, answer) => {
    const file = sealedFile(3 * RUN_BYTES, A, B);
    const pieces: Uint8Array[] = [];
    const failing = received(file, (source, bytes) =>
      source.at === RUN_BYTES ? (answer() as Failure) : from(file.body)(source, bytes),
    ).then(({ plain }) => pieces.push(plain));
    await expect(failing).rejects.toMatchObject({ kind });
    expect(pieces).toEqual([]);
  });

  test('comes from the next place while one is silent, which is asked later from then on', async () => {
    const file = sealedFile(4 * RUN_BYTES, A, B);
    const { plain, asked, came } = await received(file, (source, bytes) =>
      source.url === A ? 'silent' : from(file.body)(source, bytes),
    );
    expect([plain.equals(file.plain), came]).toEqual([true, file.plain.length]);
    // The other runs begin where bytes come.
    expect(asked).toBe('abbbb');
  });

  test('comes from the edge of the page if the only place is silent', async () => {
    const file = sealedFile(MIB, A);
    const { plain, asked } = await received(
      file,
      (source, bytes) => (source.url === A ? 'silent' : from(file.body)(source, bytes)),
      WHOLE,
    );
    expect([plain.equals(file.plain), asked]).toEqual([true, 'aw']);
  });

  test('is asked for again after a passing failure', async () => {
    const file = sealedFile(MIB, A);
    let times = 0;
    const { plain, asked } = await received(file, (source, bytes) =>
      ++times < 3 ? new Failure('busy') : from(file.body)(source, bytes),
    );
    expect([plain.equals(file.plain), asked]).toEqual([true, 'aaa']);
  });

  test('says so if some bytes are nowhere', async () => {
    const file = sealedFile(2 * MIB, A);
    const parts = file.description.parts.map((part) => ({ ...part, end: MIB }));
    const holed = { ...file, description: { ...file.description, parts } };
    await expect(received(holed, from(file.body))).rejects.toMatchObject({ kind: 'nowhere' });
  });

  test('comes from the edge of the page where no place has it, and from there last', async () => {
    // The first run is nowhere, the second one only at a place that lies.
    const file = sealedFile(3 * RUN_BYTES, A, B);
    const [a, b] = file.description.parts as [object, object];
    const parts = [
      { ...a, start: RUN_BYTES, at: RUN_BYTES },
      { ...b, start: 2 * RUN_BYTES, at: 2 * RUN_BYTES },
    ] as typeof file.description.parts;
    const holed = { ...file, description: { ...file.description, parts } };
    const byPlace = (source: Source, bytes: number) =>
      from(source.url === A ? Buffer.alloc(file.body.length) : file.body)(source, bytes);
    const { plain, came, asked } = await received(holed, byPlace, WHOLE);
    expect([plain.equals(file.plain), came]).toEqual([true, file.plain.length]);
    // Three runs are read at once: w; a, w; and b, or a, b if a is not known as a liar yet.
    expect([...asked].sort().join('')).toMatch(/^aa?bww$/);
    const lying = received(holed, (_, bytes) => Buffer.alloc(bytes), WHOLE);
    await expect(lying).rejects.toMatchObject({ kind: 'damaged' });
    // Its end is that of the places: the edge holds nothing.
    expect(availableUntil(holed.description)).toBe(Number.NEGATIVE_INFINITY);
  });

  test.each([
    [['expired'], 'unreachable', 'expired'],
    [['unreachable', 'damaged'], 'revoked', 'damaged'],
    [['unreachable'], 'busy', 'unreachable'],
    [['unreachable'], 'revoked', 'revoked'],
    [[], 'unreachable', 'nowhere'],
    [[], 'busy', 'busy'],
  ])('that fails with %j at places and %s at the edge ends as %s', (places, whole, kind) => {
    const failures = places.map((one) => new Failure(one));
    expect(worstOf(failures, new Failure(whole)).kind).toBe(kind);
  });
});

describe('runs', () => {
  const part = (url: string, start: number, end: number, more: object = {}) => ({
    ...{ url, start, end, at: 0, expires: undefined },
    ...more,
  });

  test('never lie across a place that has only a part of them', () => {
    const parts = [part(A, 0, 20 * MIB), part(B, 5 * MIB, 30 * MIB, { at: 100 })];
    const runs = [...runsOf({ size: 30 * MIB, blockBytes: MIB, parts })];
    expect(runs.map(({ start, end, sources }) => [start / MIB, end / MIB, sources.length])).toEqual(
      [
        [0, 5, 1],
        [5, 13, 2],
        [13, 20, 2],
        [20, 28, 1],
        [28, 30, 1],
      ],
    );
    expect(runs[2]?.sources.map(({ at }) => at)).toEqual([13 * MIB, 100 + 8 * MIB]);
  });

  test('stay few however many places a stranger lists', () => {
    const parts = Array.from({ length: 60_000 }, () => part(C, 0, 4 * MIB));
    const runs = [...runsOf({ size: 4 * MIB, blockBytes: MIB, parts })];
    expect(runs.map(({ sources }) => sources.length)).toEqual([64]);
  });

  test('are all there until the last copy of some bytes ends', () => {
    const parts = [
      part(A, 0, 2 * MIB, { expires: 50 }),
      part(B, 0, MIB, { expires: 90 }),
      part(C, 2 * MIB, 3 * MIB, { expires: 70 }),
    ];
    const description = { blockBytes: MIB, parts };
    expect(availableUntil({ ...description, size: 3 * MIB })).toBe(50);
    expect(availableUntil({ ...description, size: 4 * MIB })).toBe(Number.NEGATIVE_INFINITY);
  });

  test('are asked for at public places only, by a page of a public edge', () => {
    expect(mayAsk('https://b.example/x', PAGE)).toBe(true);
    for (const place of [
      'http://b.example/',
      'https://10.0.0.1/',
      'https://[::1]/',
      'https://nas/',
      'https://router.lan/',
    ]) {
      expect([place, mayAsk(place, PAGE)]).toEqual([place, false]);
      expect(mayAsk(place, 'http://127.0.0.1:3125/x')).toBe(true);
    }
  });
});
