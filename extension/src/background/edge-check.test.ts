import { describe, expect, test } from '@jest/globals';
import type { BrowserApi } from '../browser/api.ts';
import { EdgeCheck } from './edge-check.ts';

const EDGE = 'http://edge.example/base/';

type Listener = (details: { url: string; ip?: string }) => void;

/** Returns an edge check in a browser that reports one address for all answers. */
function browser(ip: string | undefined, fails = false) {
  const listeners = new Set<Listener>();
  const event = {
    addListener: (listener: Listener) => listeners.add(listener),
    removeListener: (listener: Listener) => listeners.delete(listener),
  };
  const webRequest = { onResponseStarted: event, onBeforeRedirect: event };
  const asked: { url: string; init: RequestInit }[] = [];
  const fetch = async (url: string | URL | Request, init: RequestInit = {}) => {
    asked.push({ url: String(url), init });
    if (fails) throw new TypeError('Failed to fetch');
    for (const listener of listeners) listener({ url: 'http://other.example/', ip: '192.0.2.1' });
    for (const listener of listeners) {
      listener(ip === undefined ? { url: String(url) } : { url: String(url), ip });
    }
    return new Response(null);
  };
  const check = new EdgeCheck(webRequest as unknown as BrowserApi['webRequest'], fetch);
  return { check, asked, listeners };
}

describe('a published edge whose name leads', () => {
  test.each([
    ['to a public address is used', '8.8.8.8', '9.9.9.9', true],
    ['from a public page into the own network is not', '192.168.0.1', '9.9.9.9', false],
    ['from a public page to this machine is not', '127.0.0.1', '9.9.9.9', false],
    ['from the own network to this machine is not', '::1', '10.0.0.1', false],
    ['to a mapped private address is not', '::ffff:10.0.0.1', '9.9.9.9', false],
    ['to link-local metadata is not', '169.254.169.254', '9.9.9.9', false],
    ['from a page in the own network to another one there is used', '10.0.0.2', '10.0.0.1', true],
    ['from a page on this machine to this machine is used', '127.0.0.1', '127.0.0.1', true],
    ['from a page of which nothing is known into a network is not', '10.0.0.1', undefined, false],
    ['nobody knows where is not', undefined, '9.9.9.9', false],
  ])('%s', async (_, ip, page, used) => {
    const { check } = browser(ip);
    expect(await check.withinReach({ edges: [EDGE], ip: page })).toEqual(used ? [EDGE] : []);
  });

  test('is asked only for the head of its root, once', async () => {
    const { check, asked, listeners } = browser('8.8.8.8');
    for (let i = 0; i < 3; i++) await check.withinReach({ edges: [EDGE], ip: '9.9.9.9' });
    expect(asked).toHaveLength(1);
    expect(new URL(asked[0]?.url ?? '')).toMatchObject({ host: 'edge.example', pathname: '/' });
    expect(asked[0]?.init).toMatchObject({
      method: 'HEAD',
      redirect: 'manual',
      credentials: 'omit',
    });
    expect(listeners.size).toBe(0);
  });

  test('to a host that does not answer is not used', async () => {
    const { check } = browser(undefined, true);
    expect(await check.withinReach({ edges: [EDGE], ip: '127.0.0.1' })).toEqual([]);
  });
});
