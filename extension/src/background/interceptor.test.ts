import { describe, expect, test } from '@jest/globals';
import { BrowserDownloads } from '../browser/downloads.ts';
import { HandOffStore } from '../browser/hand-off-store.ts';
import { type Offer, type Taker, TakerError } from '../contract/taker.ts';
import { HandOffs } from '../hand-off/hand-offs.ts';
import { FakeBrowser, type FakeRequest } from '../testing/fake-browser.ts';
import { AskerFields } from './asker-fields.ts';
import { EdgeCheck } from './edge-check.ts';
import { Interceptor } from './interceptor.ts';
import { KeptSettings } from './kept-settings.ts';
import { KeptUnfinished } from './kept-unfinished.ts';
import { SeenRequests } from './seen-requests.ts';
import { Skipping } from './skipping.ts';

const LARGE: FakeRequest = {
  url: 'https://example.com/file.bin',
  sent: { Cookie: 'session=42', 'User-Agent': 'Browser/1' },
  headers: { 'Content-Length': String(64 * 1024 * 1024), ETag: '"x"' },
};

/** Records offers and commits; refuses all offers on request. */
class FakeTaker implements Taker {
  readonly kind = 'desktop';
  readonly offers: Offer[] = [];
  readonly committed: string[] = [];
  refuses = false;

  async offer(offer: Offer): Promise<void> {
    this.offers.push(offer);
    if (this.refuses) throw new TakerError('different', 'it is another file');
  }

  async commit(handOff: string): Promise<string> {
    this.committed.push(handOff);
    return 'x';
  }

  async withdraw(): Promise<void> {}

  async stateOf() {
    return { state: 'unknown' } as const;
  }
}

/** Starts the parts of the background that handle downloads, in a fake browser. */
async function background(firefox: boolean, settings: object = {}, kept: object = {}) {
  const browser = new FakeBrowser(firefox);
  await browser.local.set({ settings: { taker: 'desktop', ...settings }, ...kept });
  const { api } = browser;
  const taker = new FakeTaker();
  const over: boolean[] = [];
  const handOffs = new HandOffs({
    browser: new BrowserDownloads(api.downloads),
    takers: { get: () => taker, discard: async () => 'removed' },
    store: new HandOffStore(api.storage),
    clock: { now: () => Date.now(), wakeAt: () => {} },
    onOver: (_, taken) => over.push(taken),
  });
  const skipping = new Skipping(api.storage.session);
  const cookies = { getAll: async () => [{ name: 'a', value: 'b', path: '/' }] };
  const navigator = { userAgent: 'Asked/1', languages: ['en'] };
  new Interceptor(api, {
    handOffs,
    skipping,
    settings: new KeptSettings(api.storage, () => {}),
    unfinished: new KeptUnfinished(api.storage),
    seen: new SeenRequests(api),
    check: new EdgeCheck(api.webRequest, async () => new Response(null)),
    asker: new AskerFields(cookies as never, navigator),
    asksAboutInsecure: !firefox,
    ready: handOffs.restart(),
  });
  return { browser, taker, skipping, over };
}

/** Waits until all pending promises have settled. */
async function rest(): Promise<void> {
  for (let i = 0; i < 300; i++) await undefined;
}

describe.each([
  ['Chromium', false],
  ['Firefox', true],
])('in %s', (_, firefox) => {
  test('a large download is handed over with the request fields of the browser', async () => {
    const { browser, taker, over } = await background(firefox);
    browser.download(LARGE);
    await rest();
    expect(taker.offers).toEqual([
      {
        handOff: expect.stringMatching(/^[0-9a-f-]{36}$/),
        url: LARGE.url,
        finalUrl: LARGE.url,
        fileName: 'file.bin',
        path: '/downloads/file.bin',
        length: 64 * 1024 * 1024,
        etag: '"x"',
        headers: { cookie: 'session=42', 'user-agent': 'Browser/1' },
        edges: [],
        published: [],
      },
    ]);
    expect(taker.committed).toHaveLength(1);
    expect(browser.done).toEqual(['cancel', 'erase']);
    expect(over).toEqual([true]);
    expect([...browser.local.kept.keys()]).toEqual(['settings']);
  });

  test('a refused download continues in the browser', async () => {
    const { browser, taker, over } = await background(firefox);
    taker.refuses = true;
    const id = browser.download(LARGE);
    await rest();
    expect(browser.done).toEqual([]);
    expect(browser.items.get(id)).toMatchObject({ state: 'in_progress', paused: false });
    expect(over).toEqual([false]);
  });

  test('a redirected download is offered with its first URL', async () => {
    const { browser, taker } = await background(firefox);
    const redirect = 'https://cdn.example.com/file.bin';
    browser.download({ ...LARGE, redirect });
    await rest();
    expect(taker.offers[0]).toMatchObject({ url: LARGE.url, finalUrl: redirect });
  });

  test.each([
    ['a small file', { ...LARGE, headers: { ...LARGE.headers, 'Content-Length': '5' } }, {}],
    ['the answer to a POST', { ...LARGE, method: 'POST' }, {}],
    ['a download that another extension has begun', LARGE, { byExtensionId: 'other' }],
    ['a private download', LARGE, { incognito: true }],
    ['a download that began long ago', LARGE, { startTime: '2020-01-01T00:00:00Z' }],
    ['a file that a page makes', { ...LARGE, url: 'blob:https://example.com/1' }, {}],
  ])('%s is not touched', async (_, request, more) => {
    const { browser, taker } = await background(firefox);
    browser.download(request, more);
    await rest();
    expect(browser.done).toEqual([]);
    expect(taker.offers).toEqual([]);
  });

  test('a small file is offered if it may continue an earlier download', async () => {
    const kept = { unfinished: [{ taker: 'desktop', name: 'file.bin', length: 5 }] };
    const { browser, taker } = await background(firefox, {}, kept);
    const headers = { ...LARGE.headers, 'Content-Length': '5' };
    browser.download({ ...LARGE, headers });
    await rest();
    expect(taker.offers).toMatchObject([{ length: 5, onlyRenews: true }]);
  });

  test('only the next download is left alone if the user wants that', async () => {
    const { browser, taker, skipping } = await background(firefox);
    await skipping.setNext(true);
    // Another extension began this download: it does not count as the next one.
    browser.download(LARGE, { byExtensionId: 'other' });
    browser.download(LARGE);
    await rest();
    expect(taker.offers).toEqual([]);
    skipping.clicked(Date.now());
    browser.download(LARGE);
    await rest();
    expect(taker.offers).toEqual([]);
    browser.download(LARGE);
    await rest();
    expect(taker.offers).toHaveLength(1);
  });

  test('fields that the browser does not reveal are rebuilt', async () => {
    const { browser, taker } = await background(firefox);
    const { url, headers } = LARGE;
    browser.download({ url, headers }, { referrer: 'https://example.com/page?a=b#c' });
    await rest();
    expect(taker.offers[0]?.headers).toEqual({
      cookie: 'a=b',
      'accept-language': 'en',
      'user-agent': 'Asked/1',
      referer: 'https://example.com/page?a=b',
    });
  });
});

test('strict cookies are not sent for links on pages of other sites', async () => {
  const all = [
    { name: 'a', value: '1', path: '/', sameSite: 'strict' },
    { name: 'b', value: '2', path: '/pub', sameSite: 'lax' },
  ];
  const asker = new AskerFields({ getAll: async () => all } as never, {
    userAgent: 'x',
    languages: ['en'],
  });
  const url = 'http://example.com/pub/a';
  expect((await asker.of(url, 'http://example.com/')).cookie).toBe('b=2; a=1');
  expect(await asker.of(url, 'http://other.example/page')).toMatchObject({
    cookie: 'b=2',
    referer: 'http://other.example/',
  });
  expect(await asker.of(url, 'https://other.example/page')).not.toHaveProperty('referer');
});

describe('edges that the user allows', () => {
  const edges = [{ url: 'https://edge.example/', hosts: ['example.com'] }];
  const open = { ...LARGE, sent: { 'User-Agent': 'Browser/1' } };
  const offered = async (request: FakeRequest) => {
    const { browser, taker } = await background(false, { edges });
    browser.download(request);
    await rest();
    expect(taker.offers).toHaveLength(1);
    return taker.offers[0]?.edges;
  };

  test('are named to the taker for a public file', async () => {
    expect(await offered(open)).toEqual(['https://edge.example/']);
    const redirect = 'https://cdn.other.example/file.bin';
    expect(await offered({ ...open, redirect })).toEqual(['https://edge.example/']);
  });

  test.each([
    ['with a cookie', LARGE],
    ['from elsewhere', { ...open, url: 'https://other.example/file.bin' }],
    ['that leads into this network', { ...open, redirect: 'http://192.168.1.1/f' }],
  ])('do not hear of a file %s', async (_, request) => {
    expect(await offered(request)).toEqual([]);
  });
});
