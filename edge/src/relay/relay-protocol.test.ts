import { expect, test } from '@jest/globals';
import { passedOn, RELAY_FIELDS, relayPath } from './relay-protocol.ts';

test('a client cannot send the fields of the relay, nor those of its own connection', () => {
  const fields = passedOn({
    ...{ [RELAY_FIELDS.key]: 'guessed', [RELAY_FIELDS.client]: '192.0.2.1' },
    ...{ connection: 'close', 'transfer-encoding': 'chunked', te: 'trailers', ':path': '/' },
    ...{ 'upload-offset': '5', 'x-many': ['a', 'b'], absent: undefined },
  });
  expect(fields).toEqual({ 'upload-offset': '5', 'x-many': 'a, b' });
});

test('a folder with too long a path for a socket is refused with words', () => {
  expect(relayPath('/var/lib/depot')).toBe('/var/lib/depot/relay.sock');
  expect(() => relayPath(`/${'d'.repeat(100)}`)).toThrow(/choose a shorter path/);
});
