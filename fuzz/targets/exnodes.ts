/** ExNodes, which anyone may publish. */

import { createHash } from 'node:crypto';
import { holdsOf } from '../../shared/src/download/exnode/part-holds.ts';
import { type Exnode, rootOf, type Sha256 } from '../../shared/src/exnode/exnode.ts';
import { formatExnode, parseExnode } from '../../shared/src/exnode/exnode-text.ts';
import { MAX_PLACES, placesOf, privateHost, unheld } from '../../shared/src/exnode/places.ts';
import { mutatedJsonText } from '../mutate.ts';
import { fuzzTarget, hold, holdEqual, readOrRefuse, type Verdict, weightOf } from '../target.ts';

const MIB = 2 ** 20;
const sha256: Sha256 = (bytes) => createHash('sha256').update(bytes).digest('hex');
const HEX = sha256(Buffer.from('block'));

/** A document of a file of two blocks and a half, with the given extents. */
function documentOf(extents: readonly object[], more: object = {}) {
  const [size, blockBytes] = [2.5 * MIB, MIB];
  const blocks = { algorithm: 'sha256', pieceBytes: blockBytes, hexes: [HEX, HEX, HEX] } as const;
  const digests = Buffer.from(HEX.repeat(3), 'hex').toString('base64');
  const root = rootOf(size, blocks, sha256);
  return {
    exnode: 1,
    name: 'a.bin',
    size,
    sha256: HEX,
    blockBytes,
    digests,
    root,
    extents,
    ...more,
  };
}

const replica = (host: string, at: number) => ({
  ...{ read: `http://${host}/-/d/AAAAAAAAAAAAAAAA/x/a.bin`, at },
  ...{ expires: '2030-01-01T00:00:00.000Z', manage: 'http://a.example/m', later: { deep: [1] } },
});
const DOCUMENTS = [
  documentOf([{ start: 0, length: 2.5 * MIB, shards: [[replica('a.example', 0)]] }], {
    ...{ type: 'text/plain', requires: [], sealed: 'eHh4', documents: [replica('a.example', 0)] },
  }),
  documentOf([
    { start: 0, length: MIB, shards: [[replica('a.example', 7), replica('10.0.0.1', 0)]] },
    { start: MIB, length: 1.5 * MIB, data: 1, parity: 0, shards: [[replica('a.example', 9)]] },
    { start: 0, length: 2 * MIB, shards: [[replica('a.example', 0), replica('b.example', 0)]] },
  ]),
];

function checkExnode(text: string): Verdict {
  const read = readOrRefuse(['bad-exnode'], () => parseExnode(text, sha256));
  if (read === undefined) return 'refused';
  hold(weightOf(read) <= 64 * text.length + 20_000, 'memory is in proportion to the document');
  hold(read.blocks.hexes.length === Math.ceil(read.size / read.blocks.pieceBytes), 'blocks fit');
  for (const { start, end, replicas } of read.extents) {
    hold(0 <= start && start < end && end <= read.size, 'an extent is inside the file');
    for (const one of replicas) hold(/^https?:$/.test(new URL(one.read).protocol), 'it is HTTP');
  }
  privateHost(read);
  checkPlaces(read);
  const written = formatExnode(read, false);
  holdEqual(parseExnode(written, sha256), read, 'a written document is read again');
  hold(!('manage' in Object(shardOf(formatExnode(read, true)))), 'a shared copy manages nothing');
}

/** The first replica of a document. */
function shardOf(text: string): unknown {
  return JSON.parse(text).extents[0]?.shards[0][0];
}

function checkPlaces(exnode: Exnode): void {
  const places = placesOf(exnode, 0);
  hold(places.length <= MAX_PLACES, 'places are bounded');
  let held = 0;
  for (const { parts } of places) {
    const holds = holdsOf(
      () => parts,
      () => [],
    );
    for (let at = 0, run = holds(0); run !== undefined; run = holds(at)) {
      hold(run.start >= at && run.end > run.start, 'parts are in order and disjoint');
      at = run.end;
      held += run.end - run.start;
    }
  }
  const missing = unheld(exnode.size, places).reduce((sum, one) => sum + one.end - one.start, 0);
  hold(held >= exnode.size - missing, 'what is not missing is held');
}

const long = (members: string) => `{"exnode":1,${members}}`;

export const targets = [
  fuzzTarget({
    name: 'exnode',
    cases: mutatedJsonText(DOCUMENTS),
    check: checkExnode,
    long: {
      'lists inside lists': () => '['.repeat(MIB),
      'a text with many escapes': () => long(`"x":"${'\\u0000'.repeat(MIB / 6)}"`),
      'a text without an end': () => long(`"x":"${'\\"'.repeat(MIB / 2)}`),
      'many values': () => long(`"x":[${'0,'.repeat(MIB / 2)}0]`),
      'many digests': () =>
        JSON.stringify(documentOf([], { digests: 'A'.repeat(MIB), size: 2 ** 48 })),
      'many extents at one server': () => {
        const shards = [[{ read: 'http://a.example/' }]];
        const one = { start: 0, length: MIB, shards };
        return JSON.stringify(documentOf(Array.from({ length: 12_000 }, () => one)));
      },
    },
  }),
];
