import { describe, expect, test } from '@jest/globals';
import { admitListed, isListed, lookupFor } from './listed-hosts.ts';
import { OwnNetwork } from './own-network.ts';

const [PUBLIC, PRIVATE] = ['93.184.216.34', '192.168.1.1'];
/** Names below "home.example" lead into the user's network. */
// biome-ignore lint/suspicious/noExplicitAny: the callbacks of Node's look-up
const resolve = ((name: string, _options: object, callback: any) => {
  const address = name.endsWith('home.example') ? PRIVATE : PUBLIC;
  callback(null, [{ address, family: 4 }]);
}) as unknown as ConstructorParameters<typeof OwnNetwork>[1];
const networkOf = (by: string) => new OwnNetwork({ download: new URL(by), others: [] }, resolve);
const admit = (origin: string, by: string) => admitListed(origin, by, networkOf(by));
const refused = expect.objectContaining({ code: 'source-refused' });

/** Looks the host of a URL up as a connection to it does. */
function lookedUp(url: string): Promise<unknown> {
  return new Promise((done) => {
    lookupFor(url)?.(new URL(url).hostname, { all: true }, (error, found) => done(error ?? found));
  });
}

describe('an edge that another one has named', () => {
  test.each([
    ['http://127.0.0.1:3125', 'https://edge.example'],
    ['https://192.168.1.1', 'https://edge.example'],
    ['https://[::1]:8443', 'https://edge.example'],
    ['https://nas.local', 'http://edge.example'],
    ['http://other.example', 'https://edge.example'],
  ])('is refused: %s, named by %s', (origin, by) => {
    expect(() => admit(origin, by)).toThrow(refused);
    expect(isListed(origin)).toBe(false);
    expect(lookupFor(origin)).toBeUndefined();
  });

  test.each([
    ['https://other.example', 'https://edge.example'],
    ['https://third.example', 'http://edge.example'],
    // An edge that was named without TLS gets the token over such a connection anyway.
    ['http://plain.example', 'http://edge.example'],
    ['http://127.0.0.1:3125', 'http://127.0.0.1:3126'],
  ])('is admitted: %s, named by %s', (origin, by) => {
    admit(origin, by);
    expect(isListed(origin)).toBe(true);
  });

  test('is never connected to in the network of the user, if its name leads there', async () => {
    admit('https://trap.home.example', 'https://edge.example');
    expect(await lookedUp('https://trap.home.example/-/depot')).toMatchObject(refused);
    admit('https://fine.example', 'https://edge.example');
    expect(await lookedUp('https://fine.example/')).toEqual([{ address: PUBLIC, family: 4 }]);
  });
});
