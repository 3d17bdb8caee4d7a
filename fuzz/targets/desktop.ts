/** Inputs of the app: files of other programs, messages of the browser and of its own clients. */

import fc from 'fast-check';
import { importList } from '../../desktop/engine/downloads/exchange.ts';
import { Cookies } from '../../desktop/engine/net/cookies.ts';
import { findInNetrc } from '../../desktop/engine/net/netrc.ts';
import { FrameReader } from '../../desktop/native-host/frames.ts';
import {
  parseNativeMessage,
  parseNativeResult,
} from '../../shared/src/bridge/native/native-answer.ts';
import { nativeIdOf, parseNativeRequest } from '../../shared/src/bridge/native/native-request.ts';
import { parseCall, parseFromServer } from '../../shared/src/bridge/rpc/json-rpc.ts';
import { mutatedBytes, mutatedJson, mutatedJsonText, mutatedText } from '../mutate.ts';
import { fuzzTarget, hold, holdEqual, readOrRefuse, weightOf } from '../target.ts';

const MEGABYTE = 2 ** 20;
const HAND_OFF = '6f1c2c1e-7a52-4f0e-9a42-0d4d0e1b2c3d';
const GID = '0123456789abcdef';
const LINK = {
  url: 'https://a.example/f.iso',
  fileName: 'f.iso',
  headers: { Cookie: 'a=b' },
  edges: ['http://127.0.0.1:3125/'],
};

const REQUESTS = [
  { id: 1, type: 'hello', version: 1, browser: 'firefox' },
  {
    id: 2,
    type: 'offer',
    handOff: HAND_OFF,
    finalUrl: 'https://a.example/f',
    length: 5,
    etag: '"a"',
    contentType: 'a/b',
    ...LINK,
  },
  { id: 3, type: 'add', links: [LINK, LINK] },
  { id: 4, type: 'command', gid: GID, command: 'pause' },
];
const ANSWERS = [
  { id: 1, result: { version: 1, engine: '0.1.0' } },
  { id: 2, error: { code: 'x', message: 'y', detail: 'z' } },
  { event: 'changed' },
  {
    id: 5,
    result: {
      downloads: [
        {
          gid: GID,
          name: 'f',
          status: 'active',
          length: 5,
          storedBytes: 1,
          bytesPerSecond: 2,
          etaMs: 3,
          createdAt: 4,
          error: { code: 'a', message: 'b' },
        },
      ],
    },
  },
  { id: 6, result: { gids: [GID, null], gid: GID, state: 'committed' } },
];

const COOKIES = [
  '# Netscape HTTP Cookie File\n.a.example\tTRUE\t/\tFALSE\t0\tname\tvalue\n#HttpOnly_b.example\tFALSE\t/x\tTRUE\t2000000000\tn\tv\tw\n',
];
const NETRC = [
  'machine a.example login me password "a \\"b\\""\ndefault login x password y\n',
  '# comment\nmacdef init\ncd /\n\nmachine b.example\n\tlogin you\n\taccount z password w\n',
];
const LISTS = [
  'https://a.example/f.iso\thttps://b.example/f.iso\n  dir=/downloads\n  out=f.iso\n  header=A: b\n  header=C: d\n# x\nhttp://c.example/\n',
  JSON.stringify({
    millrace: 'downloads',
    format: 1,
    downloads: [
      {
        gid: GID,
        state: 'paused',
        priority: 1,
        category: 'x',
        createdAt: 5,
        request: { urls: ['http://a/'], dir: '/d', headers: {} },
      },
      {
        gid: GID,
        state: 'error',
        finishedAt: 6,
        createdAt: 5,
        path: '/d/f',
        length: 7,
        error: { code: 'a', message: 'b', detail: 'c' },
        request: { urls: [] },
      },
    ],
  }),
];

type FrameCase = [bytes: Buffer, step: number];
type ListCase = [text: string, format: 'json' | 'aria2' | undefined];

/** Frames a message as a browser on this machine does. */
function frame(body: string): Buffer {
  const bytes = Buffer.from(body);
  const head = Buffer.alloc(4);
  head.writeUInt32LE(bytes.length);
  return Buffer.concat([head, bytes]);
}

export const targets = [
  fuzzTarget({
    name: 'native-request',
    cases: mutatedJson(REQUESTS),
    check(value) {
      const id = nativeIdOf(value);
      const request = readOrRefuse(['bad-option'], () => parseNativeRequest(value));
      if (request === undefined) return 'refused';
      hold(request.id === id && id > 0, 'an answer finds its request');
      holdEqual(parseNativeRequest(JSON.parse(JSON.stringify(request))), request, 'it round-trips');
      const links =
        request.type === 'add' ? request.links : request.type === 'offer' ? [request] : [];
      for (const { url, fileName = '', headers, edges } of links) {
        hold(!/[/\\\0]/.test(fileName), 'a name is one of a file in one folder');
        hold(
          [url, ...edges].every((one) => /^https?:\/\//i.test(one)),
          'only web addresses',
        );
        hold(
          !Object.entries(headers)
            .flat()
            .some((text) => /[\r\n\0]/.test(text)),
          'no field begins another',
        );
      }
    },
  }),
  fuzzTarget({
    name: 'native-answer',
    cases: mutatedJson(ANSWERS),
    found: [{ id: 1, error: { code: { toString: null } } }],
    check(value) {
      const message = parseNativeMessage(value);
      if (message === undefined) return 'refused';
      if (!('result' in message)) return;
      for (const type of ['hello', 'commit', 'list', 'add', 'offerState', 'openApp'] as const) {
        const result = readOrRefuse(['malformed-response'], () =>
          parseNativeResult(type, message.result),
        );
        if (result !== undefined)
          hold(weightOf(result) <= weightOf(message.result) + 1000, 'nothing is made up');
      }
    },
  }),
  fuzzTarget({
    name: 'native-frames',
    cases: fc.tuple(
      mutatedBytes([Buffer.concat([frame('{"a":1}'), frame('[]')]), frame('"ü"')]),
      fc.integer({ min: 1, max: 9 }),
    ),
    check([bytes, step]) {
      const whole = [...new FrameReader().push(bytes)];
      const reader = new FrameReader();
      const pieces = [];
      for (let at = 0; at < bytes.length; at += step)
        pieces.push(...reader.push(bytes.subarray(at, at + step)));
      const shown = (frames: typeof whole) =>
        frames.map((one) => ('error' in one ? one.error.message : one.message));
      holdEqual(shown(pieces), shown(whole), 'packets make no difference');
      hold(whole.length <= bytes.length / 4, 'a frame has a head');
      if (whole.some((one) => 'error' in one)) return 'refused';
    },
    long: {
      'empty frames': (): FrameCase => [Buffer.alloc(MEGABYTE / 64), 9],
      'a frame of brackets': (): FrameCase => [frame('['.repeat(MEGABYTE)), 9],
      'a frame that is too long': (): FrameCase => [
        Buffer.concat([Buffer.from([255, 255, 255, 255]), Buffer.alloc(MEGABYTE)]),
        9,
      ],
    },
  }),
  fuzzTarget({
    name: 'json-rpc',
    cases: mutatedJson([
      { jsonrpc: '2.0', id: 'a', method: 'aria2.addUri', params: [['http://a/'], { dir: '/' }] },
      { jsonrpc: '2.0', id: 1, error: { code: -1, message: 'x', data: {} } },
      { jsonrpc: '2.0', method: 'aria2.onDownloadStart', params: [{ gid: GID }] },
    ]),
    check(value) {
      const call = parseCall(value);
      hold('error' in call || typeof call.method === 'string', 'a call has a method');
      const message = parseFromServer(value);
      if (message !== undefined && 'error' in message)
        hold(typeof message.error.code === 'number', 'an error has a code');
      if ('error' in call && message === undefined) return 'refused';
    },
  }),
  fuzzTarget({
    name: 'cookie-file',
    cases: mutatedText(COOKIES),
    check(text) {
      const cookies = new Cookies();
      const counted = readOrRefuse(['bad-option'], () => cookies.addFile(text));
      if (counted === undefined) return 'refused';
      const field = cookies.fieldFor(new URL('https://x.a.example/x')) ?? '';
      hold(!/[\r\n\0]/.test(field) && field.length <= 16_384, 'no cookie begins another field');
      if (!text.includes('evil'))
        hold(
          cookies.fieldFor(new URL('http://evil.test/')) === undefined,
          'cookies stay with their host',
        );
    },
    long: {
      'many tabs': () => '\t'.repeat(MEGABYTE),
      'many cookies': () => `${COOKIES[0]}${'.a.example\tTRUE\t/\tFALSE\t0\tn\tv\n'.repeat(5000)}`,
      'a long host': () => `${COOKIES[0]}${'a.'.repeat(MEGABYTE / 2)}\tTRUE\t/\tFALSE\t0\tn\tv\n`,
    },
  }),
  fuzzTarget({
    name: 'netrc',
    cases: mutatedText(NETRC),
    check(text) {
      let found = false;
      for (const host of ['a.example', 'b.example', '__proto__']) {
        const login = findInNetrc(text, host);
        if (login === undefined) continue;
        found = true;
        hold(
          typeof login.user === 'string' && typeof login.password === 'string',
          'a login is two texts',
        );
        if (!text.includes('\\'))
          hold(text.includes(login.user) && text.includes(login.password), 'nothing is made up');
      }
      if (!found) return 'refused';
    },
    long: {
      'many macros': () => 'macdef a\n'.repeat(MEGABYTE / 9),
      'blanks in a macro': () => `macdef a\n${' '.repeat(MEGABYTE)}`,
      'blanks before a macro': () => `${' '.repeat(MEGABYTE)}macdex`,
      'a quoted word that is never closed': () => `machine "${'\\"'.repeat(MEGABYTE / 2)}`,
      'many quotes': () => '"'.repeat(MEGABYTE),
    },
  }),
  fuzzTarget({
    name: 'download-list',
    asynchronous: true,
    sound: ([text, format]) => format !== 'json' || text.startsWith('{'),
    cases: fc.tuple(
      fc.oneof(mutatedText(LISTS), mutatedJsonText([JSON.parse(LISTS[1] as string)])),
      fc.constantFrom(undefined, 'json' as const, 'aria2' as const),
    ),
    found: [
      ['null', 'json'],
      [
        '{"millrace":"downloads","format":1,"downloads":[{"state":"error","error":{"code":{"toString":null}}}]}',
        'json',
      ],
    ],
    async check([text, format]) {
      const read = await importList(text, format).catch((error: Error) => error);
      const listed = readOrRefuse(['bad-option'], () => {
        if (read instanceof Error) throw read;
        return read;
      });
      if (listed === undefined) return 'refused';
      for (const { at, ended } of listed) {
        hold(at >= 1 && at <= text.length, 'an entry is inside the text');
        hold(ended?.path === undefined || ended.path.startsWith('/'), 'a path is absolute');
      }
      hold(
        Object.getPrototypeOf({}) === Object.prototype && !('a' in {}),
        'prototypes of objects are not changed',
      );
    },
    long: {
      'many header lines': (): ListCase => [
        `http://a/\n${' header=a: b\n'.repeat(MEGABYTE / 13)}`,
        'aria2',
      ],
      'many tabs': (): ListCase => ['a\t'.repeat(MEGABYTE / 2), 'aria2'],
      'blanks before an option': (): ListCase => [`http://a/\n${' '.repeat(MEGABYTE)}a\n`, 'aria2'],
      'blanks before a list': (): ListCase => [`${' '.repeat(MEGABYTE)}x`, undefined],
    },
  }),
];
