/** A daemon on another machine as a taker: the real daemon, over real sockets. */

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { HOST, ORIGIN, RemoteStage } from '../../../desktop/testing/remote-stage.ts';
import { RemoteDaemon } from '../background/remote-daemon.ts';
import { remoteOrigin } from '../contract/remote.ts';
import { DEFAULT_SETTINGS, type Settings } from '../contract/settings.ts';
import type { Offer } from '../contract/taker.ts';
import { KeptPairing } from './kept-pairing.ts';
import { RemoteTaker } from './remote.ts';
import type { Fetch } from './remote-link.ts';

const EXTENSION = 'chrome-extension://fbgofjbfhfaiaophmcbdpombpjckagjn';
const BODY = Buffer.alloc(200_000, 'millrace');
const ETAG = `"${createHash('sha256').update(BODY).digest('hex')}"`;

const stage = new RemoteStage();
let origin: Server;
/** Cookies with which the origin was asked. */
const cookies: (string | undefined)[] = [];
/** Requests that reached the network: address and fields. */
const sent: { readonly url: string; readonly init: RequestInit }[] = [];
/** Stands for the network: what happens to the next request. */
let network: 'up' | 'down' | 'answer-lost' | Response;

/** Sends as the browser does, through a reverse proxy that ends TLS. */
const fetch: Fetch = async (url, init) => {
  const { host, pathname, protocol } = new URL(url);
  sent.push({ url, init });
  if (protocol !== 'https:' || network === 'down') throw new TypeError('Failed to fetch');
  if (network instanceof Response) return network;
  init.signal?.throwIfAborted();
  const headers = { origin: EXTENSION, ...(init.headers as Record<string, string>), host };
  const { status, text } = await stage.send({ path: pathname, headers, body: String(init.body) });
  if (network === 'answer-lost') throw new TypeError('Failed to fetch');
  return new Response(text, { status });
};

/** Storage of the extension, as the browser keeps it. */
class Storage {
  readonly items: Record<string, unknown> = {};
  get = async (key: string) => ({ [key]: this.items[key] });
  set = async (items: object) => void Object.assign(this.items, items);
  remove = async (key: string) => void delete this.items[key];
}

let storage: Storage;
let settings: { now: Settings; change(changes: Partial<Settings>): Promise<void> };
let taker: RemoteTaker;
let daemon: RemoteDaemon;

beforeAll(async () => {
  await stage.begin();
  origin = createServer((req, res) => {
    cookies.push(req.headers.cookie);
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(req.headers.range ?? '') ?? [];
    const [first, last] = [Number(from ?? 0), to ? Number(to) : BODY.length - 1];
    const part = BODY.subarray(first, last + 1);
    res.setHeader('etag', ETAG);
    if (from === undefined) return void res.end(BODY);
    res.setHeader('content-range', `bytes ${first}-${last}/${BODY.length}`);
    res.writeHead(206, { 'content-length': part.length }).end(part);
  });
  await once(origin.listen(0, '127.0.0.1'), 'listening');
});
beforeEach(() => {
  stage.number++;
  network = 'up';
  cookies.length = 0;
  sent.length = 0;
  storage = new Storage();
  settings = {
    now: { ...DEFAULT_SETTINGS, taker: 'remote' },
    change: async (changes) => {
      settings.now = { ...settings.now, ...changes };
    },
  };
  const kept = new KeptPairing(storage);
  taker = new RemoteTaker({ fetch, pairing: kept.read });
  daemon = new RemoteDaemon({ fetch, kept, taker, settings, agent: 'Firefox/140 Linux' });
});
afterAll(async () => {
  origin.closeAllConnections();
  origin.close();
  await stage.end();
});

let number = 0;
const pathOf = (name: string) =>
  `http://127.0.0.1:${(origin.address() as AddressInfo).port}/${name}`;
function offerOf(name: string, more: Partial<Offer> = {}): Offer {
  return {
    handOff: `00000000-0000-4000-8000-${String(++number).padStart(12, '0')}`,
    url: pathOf(name),
    finalUrl: pathOf(name),
    fileName: name,
    path: `/home/ann/${name}`,
    length: BODY.length,
    etag: ETAG,
    headers: { Cookie: 'session=42' },
    edges: [],
    ...more,
  };
}
const paired = async () => expect(await daemon.pair(ORIGIN, await stage.newCode())).toEqual({});
const never = new AbortController().signal;
const problem = (name: string) => expect.objectContaining({ problem: name });
const total = async () => (await stage.locally<{ total: number }>('millrace.list')).total;

describe('pairing', () => {
  test('gives a token, which stays in the storage, and a name in the list of devices', async () => {
    await paired();
    expect(await daemon.state()).toEqual({ url: ORIGIN, problem: undefined });
    expect(storage.items).toEqual({
      remote: { url: ORIGIN, token: expect.stringMatching(/^\S{20,}$/) },
    });
    const { devices } = await stage.locally<{ devices: object[] }>('millrace.devices');
    expect(devices[0]).toMatchObject({ kind: 'device', name: 'Millrace, Firefox (Linux)' });
    for (const { init } of sent) {
      expect(init).toMatchObject({ redirect: 'error', credentials: 'omit', cache: 'no-store' });
    }
  });

  test('by a wrong code, or at an address that answers otherwise, gives none', async () => {
    expect(await daemon.pair(ORIGIN, 'AAAA-AAAA')).toEqual({ problem: 'wrong-code' });
    expect(await daemon.pair('https://other.example', 'AAAA-AAAA')).toEqual({
      problem: 'refused',
    });
    network = new Response('<h1>Hello</h1>');
    expect(await daemon.pair(ORIGIN, 'AAAA-AAAA')).toEqual({ problem: 'no-daemon' });
    network = new Response('{"token":"a b"}');
    expect(await daemon.pair(ORIGIN, 'AAAA-AAAA')).toEqual({ problem: 'no-daemon' });
    network = 'down';
    expect(await daemon.pair(ORIGIN, 'AAAA-AAAA')).toEqual({ problem: 'unreachable' });
    expect(storage.items).toEqual({});
  });

  test('without https sends nothing, nor does a stored address without it', async () => {
    const code = await stage.newCode();
    expect(await daemon.pair(`http://${HOST}`, code)).toEqual({ problem: 'unreachable' });
    storage.items.remote = { url: `http://${HOST}`, token: 'x' };
    await expect(taker.offer(offerOf('a'), never)).rejects.toEqual(problem('absent'));
    expect(sent).toEqual([]);
  });

  test('is forgotten, and downloads go where they went before', async () => {
    await paired();
    await daemon.forget();
    expect(storage.items).toEqual({});
    expect(settings.now.taker).toBe('auto');
    await expect(taker.commit(offerOf('a').handOff)).rejects.toEqual(problem('absent'));
  });
});

describe('the taker', () => {
  beforeEach(paired);

  test('proves, commits and lists a download, which goes there with the browser’s cookies', async () => {
    const offer = offerOf('film.bin');
    await taker.offer(offer, never);
    expect(await total()).toBe(0);
    expect(cookies).toContain('session=42');
    expect(await taker.stateOf(offer.handOff)).toEqual({ state: 'proven' });
    const id = await taker.commit(offer.handOff);
    expect(await taker.commit(offer.handOff)).toBe(id);
    expect(await taker.stateOf(offer.handOff)).toEqual({ state: 'committed', id });
    expect(await taker.list()).toMatchObject([{ taker: 'remote', id, name: 'film.bin' }]);
    await expect(taker.command(id, 'open')).rejects.toEqual(problem('refused'));
    await taker.command(id, 'pause');
    await taker.command(id, 'resume');
    await taker.discard(id);
    await taker.discard(id);
    expect(await total()).toBe(0);
  });

  test('keeps nothing of another file, nor of an offer that was withdrawn', async () => {
    const other = offerOf('a', { etag: '"another"' });
    await expect(taker.offer(other, never)).rejects.toEqual(problem('different'));
    expect(await taker.stateOf(other.handOff)).toEqual({ state: 'unknown' });
    const offer = offerOf('b');
    await taker.offer(offer, never);
    await taker.withdraw(offer.handOff);
    await expect(taker.commit(offer.handOff)).rejects.toEqual(problem('refused'));
  });

  test('that cannot be reached leaves the download to the browser', async () => {
    network = 'down';
    await expect(taker.offer(offerOf('a'), never)).rejects.toEqual(problem('absent'));
    expect(await daemon.state()).toEqual({ url: ORIGIN, problem: 'unreachable' });
    network = 'up';
    expect(await daemon.state()).toEqual({ url: ORIGIN, problem: undefined });
  });

  test('whose answer to the commit is lost is asked, and says that it has the download', async () => {
    const offer = offerOf('lost.bin');
    await taker.offer(offer, never);
    network = 'answer-lost';
    await expect(taker.commit(offer.handOff)).rejects.toEqual(problem('lost'));
    await expect(taker.stateOf(offer.handOff)).rejects.toEqual(problem('lost'));
    network = 'up';
    const state = await taker.stateOf(offer.handOff);
    expect(state).toMatchObject({ state: 'committed' });
    expect(await total()).toBe(1);
    await taker.withdraw(offer.handOff);
    expect(await total()).toBe(0);
  });

  test.each([
    [502, 'Bad Gateway', 'lost', 'no-daemon'],
    [403, 'Forbidden', 'absent', 'refused'],
    [200, '{"id":1,"result":{"gid":5}}', 'lost', undefined],
    [200, 'too much', 'lost', 'unreachable'],
  ])('that answers a commit with %i and %s is not believed', async (status, text, name, why) => {
    const body = text === 'too much' ? `"${'x'.repeat(5_000_000)}"` : text;
    network = new Response(body, { status });
    await expect(taker.commit(offerOf('a').handOff)).rejects.toEqual(problem(name));
    expect(taker.link.problem).toBe(why);
  });

  test('that has revoked this browser takes nothing', async () => {
    const { devices } = await stage.locally<{ devices: { id: string }[] }>('millrace.devices');
    for (const { id } of devices) await stage.locally('millrace.revokeDevice', { id });
    await expect(taker.offer(offerOf('a'), never)).rejects.toEqual(problem('absent'));
    expect(await daemon.state()).toEqual({ url: ORIGIN, problem: 'revoked' });
  });

  test('adds links of a menu, and none if it does not answer', async () => {
    const link = { url: pathOf('menu.bin'), headers: {}, edges: [] };
    const [id = ''] = await taker.add([link]);
    expect(await taker.list()).toMatchObject([{ id, name: 'menu.bin' }]);
    await taker.command(id, 'remove');
    network = 'down';
    await expect(taker.add([link])).rejects.toEqual(problem('absent'));
  });
});

test.each([
  ['nas.example', 'https://nas.example'],
  [' https://NAS.example:8443/page?x#y ', 'https://nas.example:8443'],
  ['[2001:db8::1]:443', 'https://[2001:db8::1]'],
  ['http://nas.example', undefined],
  ['https://ann:secret@nas.example', undefined],
  ['javascript:alert(1)', undefined],
  ['', undefined],
])('the address %j is read as %j', (typed, read) => {
  expect(remoteOrigin(typed)).toBe(read);
});
