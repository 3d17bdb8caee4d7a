/** Messages between edges, their own files, operators' files, and signed links. */

import type { IncomingMessage } from 'node:http';
import fc from 'fast-check';
import { parseEdgeList } from '../../desktop/engine/edges/edge-list.ts';
import { NETWORK_PIN, PIN_LIST, PURGE_LOG } from '../../edge/src/cache/commands.ts';
import { formatPurgeLines, readPurgeLines } from '../../edge/src/cache/purge-file.ts';
import { ClusterAuth } from '../../edge/src/peers/cluster-auth.ts';
import { ANSWER, askingNode } from '../../edge/src/peers/heartbeat.ts';
import { readVersion, writeAnswer, writeVersion } from '../../edge/src/peers/version-message.ts';
import { readCommand } from '../../edge/src/routes/commands.ts';
import {
  formatAuthentication,
  INSIDE,
  parseAuthentication,
} from '../../shared/src/cdn/routing/inside-message.ts';
import { NetworkPins } from '../../shared/src/cdn/upkeep/network-pins.ts';
import { prefixesOf } from '../../shared/src/cdn/upkeep/purge-target.ts';
import { readOrThrow as readBySchema } from '../../shared/src/schema/read.ts';
import { mutatedJson, mutatedJsonText, mutatedText } from '../mutate.ts';
import { HEX64, NETWORK_PIN_SAMPLE, NOW } from '../samples.ts';
import { fuzzTarget, hold, holdEqual, readOrRefuse, readOrThrow, weightOf } from '../target.ts';

const MEGABYTE = 2 ** 20;

const EDGE_LIST = {
  routing: 'hrw-1',
  chunkBytes: 1_048_576,
  edges: [
    { name: 'a', url: 'https://a.example/', healthy: true, weight: 2, load: 0 },
    { name: 'b', url: 'http://b.example:3125/', healthy: false },
  ],
};
const HEARTBEAT = {
  name: 'node-1',
  instance: 'x',
  load: 3,
  weight: 1,
  policy: 'org:a',
  publicUrl: 'https://a.example/',
  draining: false,
  sees: [['b', 1]],
  peerUrl: 'http://10.0.0.1:3125',
  purges: '0123456789abcdef',
  pins: '0123456789abcdef',
  insidePort: 4000,
  nodes: ['http://10.0.0.2:3125'],
};
const VERSION = {
  length: 100,
  validators: { etag: '"a"', lastModified: 5000, lastModifiedIsStrong: true },
  fields: { 'content-type': 'a/b' },
  ageMs: 1,
  lifetimeMs: 2,
  staleIfErrorMs: 3,
  finalUrl: 'http://a/',
};
const RUNNING = { ...VERSION, length: -1, tag: `s.${'0a'.repeat(16)}`, running: ['other'] };
const TOLD_ANSWER = {
  answer: {
    ...{ code: 'origin-not-found', detail: '', status: 404, fields: { 'x-a': 'b' }, body: 'YWJj' },
    ...{ finalUrl: 'http://a/', ageMs: 1, lifetimeMs: 2, staleIfErrorMs: 3 },
  },
};
const LOGGED = { target: { kind: 'prefix', prefix: 'http://a.example/f/' }, id: 'p1', at: NOW };
const PURGES = { dropped: { at: 0, id: '', digest: '0000000000000000' }, purges: [LOGGED] };

const SECRET = Buffer.alloc(32, 7);
const auth = () => new ClusterAuth(SECRET, () => NOW, 'me');

/** Makes a request in Node's form. */
function request(method: string, headers: Record<string, string>): IncomingMessage {
  return { method, headers, socket: { remoteAddress: '10.0.0.9' } } as unknown as IncomingMessage;
}

const PURGE_FILE = formatPurgeLines([
  { type: 'era', era: '6f1c2c1e-7a52-4f0e-9a42-0d4d0e1b2c3d', current: 3 },
  { type: 'purge', purge: { target: { kind: 'url', url: 'http://a/f' }, id: 'x', generation: 4 } },
  { type: 'dropped', dropped: PURGES.dropped },
]);

export const targets = [
  fuzzTarget({
    name: 'edge-list',
    cases: mutatedJsonText([EDGE_LIST]),
    check(text) {
      const list = parseEdgeList(text);
      if (list === undefined) return 'refused';
      hold(
        Number.isInteger(list.chunkBytes) &&
          list.chunkBytes >= 65_536 &&
          list.chunkBytes <= 2 ** 24,
        'a chunk has a sensible size',
      );
      for (const { name, url, weight } of list.edges) {
        hold(
          /^https?:$/.test(new URL(url).protocol) && url.length <= 8192,
          'an edge is a web address',
        );
        hold(
          name !== '' && weight > 0 && Number.isFinite(weight),
          'an edge has a name and a weight',
        );
      }
      hold(weightOf(list) <= 40 * text.length + 1000, 'memory is in proportion to the answer');
    },
    long: {
      'a long address': () =>
        JSON.stringify({
          ...EDGE_LIST,
          edges: [{ ...EDGE_LIST.edges[0], url: `http://a/${'a'.repeat(MEGABYTE)}` }],
        }),
      'many edges': () =>
        JSON.stringify({
          ...EDGE_LIST,
          edges: Array.from({ length: 10_000 }, () => EDGE_LIST.edges[0]),
        }),
      'brackets inside brackets': () => '['.repeat(MEGABYTE),
    },
  }),
  fuzzTarget({
    name: 'heartbeat',
    cases: mutatedJson([HEARTBEAT]),
    check(value) {
      const read = readOrThrow(() => readBySchema(ANSWER, value));
      if (read === undefined) return 'refused';
      for (const url of read.nodes)
        hold(/^https?:\/\//.test(new URL(url).origin), 'a node has a web address');
      hold(read.nodes.length <= 500 && read.sees.length <= 1000, 'the lists of nodes are bounded');
    },
  }),
  fuzzTarget({
    name: 'asking-node',
    cases: fc.tuple(
      mutatedText(['http://10.0.0.1:3125', 'https://a.example/']),
      mutatedText(['3125', '']),
    ),
    found: [
      ['data:x', ''],
      ['javascript:1', '1'],
    ],
    check([url, port]) {
      const node = askingNode(request('GET', { [INSIDE.nodeUrl]: url, [INSIDE.nodePort]: port }));
      if (node === undefined) return 'refused';
      hold(
        /^https?:$/.test(new URL(node).protocol) && new URL(node).origin === node,
        'a node has a web address',
      );
    },
  }),
  fuzzTarget({
    name: 'version-message',
    cases: mutatedJsonText([VERSION, RUNNING, TOLD_ANSWER, { tunnel: 'no-validator' }]),
    check(text) {
      let read: ReturnType<typeof readVersion>;
      try {
        read = readVersion(text, 'http://a/f', NOW);
      } catch {
        return 'refused'; // the caller asks the origin
      }
      if (read.kind === 'tunnel')
        return hold(/^[\x21-\x7e]{1,200}$/.test(read.reason), 'a reason is a word');
      if (read.kind === 'answer') {
        const { answer } = read;
        hold(!/[\r\n\0]/.test(Object.values(answer.fields).join('')), 'no field begins another');
        hold(answer.body.length <= 64 * 1024 + 3, 'an answer is bounded');
        return holdEqual(
          readVersion(writeAnswer(answer, NOW), 'http://a/f', NOW),
          read,
          'it lasts',
        );
      }
      const { version, freshness, finalUrl } = read.pointer;
      const least = read.kind === 'stream' ? -1 : 0;
      hold(
        Number.isSafeInteger(version.length) && version.length >= least,
        'a length is a whole number',
      );
      hold(/^https?:$/.test(new URL(finalUrl).protocol), 'the last address is a web address');
      hold(
        !Object.values(version.fields).some((field) => /[\r\n\0]/.test(field)),
        'no field begins another',
      );
      hold(
        [freshness.lifetimeMs, freshness.initialAgeMs].every(
          (ms) => ms >= 0 && Number.isFinite(ms),
        ),
        'times are finite',
      );
      holdEqual(
        readVersion(
          writeVersion(read.pointer, NOW, read.kind === 'stream' ? read.sources : undefined),
          'http://a/f',
          NOW,
        ),
        read,
        'it round-trips',
      );
    },
    long: {
      'a long address': () =>
        JSON.stringify({ ...VERSION, finalUrl: `http://a/${'a'.repeat(MEGABYTE)}` }),
      'many fields': () =>
        JSON.stringify({
          ...VERSION,
          fields: Object.fromEntries(
            Array.from({ length: 20_000 }, (_, i) => [
              `a-${'b'.repeat(i % 30)}${i}`.replace(/\d/g, 'c') + 'd'.repeat(i % 7),
              'x',
            ]),
          ),
        }),
    },
  }),
  fuzzTarget({
    name: 'cluster-signature',
    sound: ([target, hops, , which, to]) =>
      target.startsWith('/http') && hops === '1' && which === 0 && to === 'me',
    cases: fc.tuple(
      mutatedText(['/http://a/f,start=0,end=9', '/-/inside/heartbeat']),
      mutatedText(['1', '']),
      mutatedText(['']),
      fc.nat(3),
      fc.constantFrom('me', 'me', 'other', undefined),
    ),
    check([target, hops, damage, which, to]) {
      const { headers } = auth().sign(to, 'GET', '/http://a/f,start=0,end=9', {
        [INSIDE.hops]: '1',
      });
      const given: Record<string, string> = { ...headers, [INSIDE.hops]: hops };
      const mark = given[INSIDE.auth] as string;
      // The signature cut short, with characters appended, or replaced.
      if (which === 1) given[INSIDE.auth] = mark.slice(0, mark.length - damage.length - 1);
      if (which === 2) given[INSIDE.auth] = mark + damage;
      if (which === 3) given[INSIDE.auth] = damage;
      const verifier = auth();
      const good = readOrRefuse(['inside-request-refused'], () => {
        verifier.verify(request('GET', given), target);
        return true;
      });
      const unchanged =
        target === '/http://a/f,start=0,end=9' &&
        hops === '1' &&
        to === 'me' &&
        given[INSIDE.auth] === mark;
      hold((good === true) === unchanged, 'exactly what was signed is let in');
      if (good !== true) return 'refused';
      {
        const again = readOrRefuse(['inside-request-refused'], () => {
          verifier.verify(request('GET', given), target);
          return true;
        });
        hold(again === undefined, 'nothing is let in twice');
      }
    },
  }),
  fuzzTarget({
    name: 'authentication-field',
    cases: mutatedText([`t=${NOW}, n=${'0a'.repeat(16)}, h=${HEX64}`]),
    check(text) {
      const read = parseAuthentication(text);
      if (read === undefined) return 'refused';
      hold(
        /^t=0*/.exec(text) !== null && formatAuthentication(read).length <= text.length,
        'it round-trips',
      );
    },
    long: { digits: () => `t=${'1'.repeat(MEGABYTE)}` },
  }),
  fuzzTarget({
    name: 'purge-file',
    cases: mutatedText([PURGE_FILE]),
    check(text) {
      const lines = readPurgeLines(text);
      if (lines === undefined) return 'refused';
      hold(lines.length === 0 || lines[0]?.type === 'era', 'the era comes first');
      // Damage before the last line end voids the cache; damage after it is an unfinished write.
      const complete = text.slice(0, text.lastIndexOf('\n') + 1);
      hold(
        complete.split('\n').every((line) => line === '' || PURGE_FILE.includes(line)),
        'a damaged line is never taken for a whole one',
      );
      hold(formatPurgeLines(lines) === complete, 'it round-trips');
    },
    long: {
      'many line ends': () => '\n'.repeat(MEGABYTE),
      'one long line': () => `${'a'.repeat(MEGABYTE)}\n`,
    },
  }),
  fuzzTarget({
    name: 'network-lists',
    cases: fc.oneof(
      mutatedJson([PURGES, { pins: [NETWORK_PIN_SAMPLE] }]),
      mutatedJson([
        { do: 'purge', purge: LOGGED, network: true },
        { do: 'pin', pin: NETWORK_PIN_SAMPLE, forMs: 5, at: 6 },
        { do: 'stop', id: 'a' },
      ]),
    ),
    check(value) {
      const log = readOrThrow(() => readBySchema(PURGE_LOG, value));
      for (const { target } of log?.purges ?? []) {
        if (target.kind === 'prefix')
          hold(
            prefixesOf(target.prefix).at(-1) === target.prefix,
            'a prefix is one that lookups try',
          );
      }
      const list = readOrThrow(() => readBySchema(PIN_LIST, value));
      const pins = list?.pins ?? [];
      hold(
        pins.every((pin) => readOrThrow(() => readBySchema(NETWORK_PIN, pin)) !== undefined),
        'pins are well formed',
      );
      const network = new NetworkPins();
      network.merge(pins, NOW);
      hold(network.pins.length <= pins.length, 'nothing is made up');
      const command = readOrRefuse(['bad-option'], () => readCommand(JSON.stringify(value)));
      if (log === undefined && list === undefined && command === undefined) return 'refused';
      hold(command === undefined || typeof command.do === 'string', 'a command says what to do');
    },
  }),
];
