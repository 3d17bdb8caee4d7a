/** Attacks with URLs: injection of fields, confusion about files, ways out of an allowed folder. */

import { describe, expect, test } from '@jest/globals';
import { fetchAll } from '../../fixtures/clients/http-client.ts';
import { rawExchange } from '../../fixtures/clients/raw-client.ts';
import { EdgeProcess } from '../../fixtures/programs/processes.ts';
import { echoStage } from '../../fixtures/stages/echo-stage.ts';

const { edge, origin, isWell } = await echoStage();
const { host } = origin;

describe('header injection through the URL', () => {
  const evil = 'X-Injected: yes';
  const forms: [string, string][] = [
    ['CR LF, encoded', `%0d%0a${encodeURIComponent(evil)}`],
    ['LF, encoded', `%0A${encodeURIComponent(evil)}`],
    ['twice encoded', `%250d%250a${encodeURIComponent(evil)}`],
    ['in the query', `?x=%0d%0a${encodeURIComponent(evil)}`],
    ['as characters whose low byte is CR LF', `%E5%98%8A%E5%98%8D${encodeURIComponent(evil)}`],
    ['with NEL and LS', `%C2%85%E2%80%A8${encodeURIComponent(evil)}`],
    ['with NUL', `%00${encodeURIComponent(evil)}`],
  ];
  test.each(forms)('%s: adds no field, and is part of the file’s name', async (_, form) => {
    const got = await fetchAll(`${edge.url}/http://${host}/file${form}`);
    expect(got.headers).not.toHaveProperty('x-injected');
    // Such a file may exist: the edge asks the origin for exactly this path, and nothing else.
    expect(got.digest).toBe(origin.digest(`/file${form}`));
    expect(origin.targets).toEqual([`/file${form}`]);
  });

  test('in the host: the URL is refused', async () => {
    for (const name of ['a%0d%0aX-Injected:%20yes', 'a%20b', 'a%00b', 'a%2fb', 'a%23b', 'a%40b']) {
      const got = await fetchAll(`${edge.url}/http://${name}/file`);
      expect([name, got.status]).toEqual([name, 400]);
      expect(got.headers).not.toHaveProperty('x-injected');
    }
  });

  test.each([
    ['CR LF, raw', '/x\r\nX-Injected: yes'],
    ['LF, raw', '/x\nX-Injected: yes'],
    ['CR, raw', '/x\rX-Injected: yes'],
    ['NUL, raw', '/x\0X-Injected: yes'],
    ['CR LF, encoded', '/x%0d%0aX-Injected: yes'],
    [
      'a whole answer',
      '/x\r\n\r\nHTTP/1.1 200 OK\r\nX-Injected: yes\r\nContent-Length: 3\r\n\r\nbad',
    ],
    ['another scheme', 'javascript:alert(1)'],
    ['credentials', 'http://user:secret@127.0.0.1/x'],
  ])('in the Location of a redirect: %s', async (_, location) => {
    const got = await fetchAll(
      `${edge.url}/http://${host}/redirect?to=${encodeURIComponent(location)}`,
    );
    expect(got.headers).not.toHaveProperty('x-injected');
    expect(got.headers).not.toHaveProperty('location');
    expect(got.body.toString()).not.toBe('bad');
    for (const target of origin.targets) expect(target).not.toMatch(/[\r\n ]/);
    await isWell();
  });
});

describe('cache-key confusion', () => {
  /** Name of the case, target at the edge, and the path that the edge must ask the origin for. */
  const same: [string, string, string][] = [
    ['dot segments', '/a/../b/./c', '/b/c'],
    ['encoded dot segments', '/a/%2e%2e/b/%2E/c', '/b/c'],
    ['dot segments above the root', '/../../b/c', '/b/c'],
    ['half encoded dot segments', '/a/.%2e/b/c', '/b/c'],
    ['doubly encoded dots', '/a/%252e%252e/b', '/a/%252e%252e/b'],
    ['encoded slashes', '/a%2Fb', '/a%2Fb'],
    ['encoded slashes with dots', '/a/..%2fb', '/a/..%2fb'],
    ['slashes, doubled', '/a//b', '/a//b'],
    ['backslashes', '/a\\..\\b', '/a%5C..%5Cb'],
    ['encoded backslashes', '/a%5c..%5cb', '/a%5c..%5cb'],
    ['an encoded letter', '/%61', '/%61'],
    ['upper and lower case', '/A', '/A'],
    ['percent-encoding in lower case', '/%c3%a9', '/%c3%a9'],
    ['percent-encoding in upper case', '/%C3%A9', '/%C3%A9'],
    ['a query', '/a?b', '/a?b'],
    ['an empty query', '/a?', '/a?'],
    ['an encoded question mark', '/a%3fb', '/a%3fb'],
    ['a query in another order', '/a?y=2&x=1', '/a?y=2&x=1'],
    ['the same query', '/a?x=1&y=2', '/a?x=1&y=2'],
    ['dots in a query', '/a?x=../../b', '/a?x=../../b'],
    ['an encoded fragment', '/a%23b', '/a%23b'],
    ['a parameter', '/a;b', '/a;b'],
    ['a NUL', '/a%00', '/a%00'],
    ['the name of a chunk', '/a,start=0,end=65535,v=e.x', '/a,start=0,end=65535,v=e.x'],
    ['the name of a private file', '/private%20http://x', '/private%20http://x'],
    ['a plus', '/a+b', '/a+b'],
    ['an encoded space', '/a%20b', '/a%20b'],
    ['a broken escape', '/a%zz', '/a%zz'],
    ['another edge inside', `/http://${host}/b`, `/http://${host}/b`],
  ];

  test('two resources never share an entry, and each is what the origin has', async () => {
    // Twice: a cached entry of one resource must not answer another.
    for (let round = 0; round < 2; round++) {
      for (const [what, target, asked] of same) {
        const got = await fetchAll(`${edge.url}/http://${host}${target}`);
        expect([what, got.status, got.digest]).toEqual([what, 200, origin.digest(asked)]);
      }
    }
    // The second round came from the cache: one request for each resource.
    expect([...origin.targets].sort()).toEqual(
      [...new Set(same.map(([, , asked]) => asked))].sort(),
    );
  });

  test('a host, a port or a whole URL that the client encodes is the same file under the same rules', async () => {
    const url = `http://${host}/a%2Fb?c`;
    const forms = [
      url,
      url.replace(host, encodeURIComponent(host)),
      url.replace('http:', 'http%3A').replace(host, encodeURIComponent(host)),
      encodeURIComponent(url),
      `${encodeURIComponent(`http://${host}/a%2Fb`)}?c`,
    ];
    for (const form of forms) {
      const got = await fetchAll(`${edge.url}/${form}`);
      expect([form, got.digest]).toEqual([form, origin.digest('/a%2Fb?c')]);
      const other = form.replace('127.0.0.1', '127.0.0.2');
      expect([other, (await fetchAll(`${edge.url}/${other}`)).status]).toEqual([other, 403]);
    }
    expect(origin.targets).toEqual(['/a%2Fb?c']);
  });

  test('a URL with a fragment or credentials is refused: it would be another name for a file', async () => {
    for (const target of [
      `http://${host}/a#b`,
      `http://user@${host}/a`,
      `http://:p@${host}/a`,
      `user@${host}/a`,
    ]) {
      const [answer] = await rawExchange(edge.url, `GET /${target} HTTP/1.1\r\nHost: x\r\n\r\n`);
      expect([target, answer?.status]).toEqual([target, 400]);
    }
    expect(origin.targets).toEqual([]);
  });

  test('spellings of a host are one name, and other hosts have names of their own', async () => {
    const { port } = origin;
    const here = `localhost:${port}`;
    for (const name of [
      'localhost',
      'LOCALHOST',
      'LocalHost',
      'localhost.',
      '%6cocalhost',
      'ｌｏｃａｌｈｏｓｔ',
    ]) {
      const got = await fetchAll(
        `${edge.url}/http://${encodeURI(name).replace('%256c', '%6c')}:${port}/host`,
      );
      expect([name, got.status, got.digest]).toEqual([name, 200, origin.digest('/host', here)]);
    }
    for (const name of ['127.0.0.1', '0x7f.1', '2130706433', '127.0.0.1.']) {
      const got = await fetchAll(`${edge.url}/http://${name}:${port}/host`);
      expect([name, got.digest]).toEqual([name, origin.digest('/host')]);
    }
    expect(origin.targets).toEqual(['/host', '/host']);
  });

  test('a host with more than one dot at its end is not another name for it', async () => {
    for (const name of ['localhost..', '.localhost', 'local..host']) {
      const got = await fetchAll(`${edge.url}/http://${name}:${origin.port}/host`);
      expect([name, got.status]).toEqual([name, 400]);
    }
  });

  test('fields of the client are not part of the name, and do not reach the origin', async () => {
    const headers = {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      'x-original-url': '/evil',
    };
    const got = await fetchAll(`${edge.url}/http://${host}/fields`, { headers });
    expect(got.digest).toBe(origin.digest('/fields'));
    expect((await fetchAll(`${edge.url}/http://${host}/fields`)).headers['cache-status']).toMatch(
      /; hit/,
    );
  });
});

describe('an allowed folder of an origin', () => {
  test('cannot be left by any spelling of the path', async () => {
    const narrow = await EdgeProcess.start(['--allow-origin', `${host}/pub`]);
    try {
      expect((await fetchAll(`${narrow.url}/http://${host}/pub/a%2fb`)).digest).toBe(
        origin.digest('/pub/a%2fb'),
      );
      origin.targets.length = 0;
      const spellings = [
        '/secret',
        '/pub/../secret',
        '/pub/%2e%2e/secret',
        '/pub/..%2fsecret',
        '/pub/..%2Fsecret',
        '/pub/%2e%2e%2fsecret',
        '/pub/..%5csecret',
        '/pub/..\\secret',
        '/pub/..%252fsecret',
        '/pub/%252e%252e/secret',
        '/pub/%252e%252e%252fsecret',
        '/pub/..;/secret',
        '/pub/..;x=1/secret',
        '/pub/..%c0%afsecret',
        '/pub/%c0%ae%c0%ae/secret',
        '/pub//..%2f..%2fsecret',
        '//secret',
        '/%70ub/../secret',
        '/PUB/x',
        '/pub%2f..%2fsecret',
        '/pub/%25252525252e',
        '/public',
      ];
      for (const path of spellings) {
        const got = await fetchAll(`${narrow.url}/http://${host}${path}`);
        expect([path, got.status, JSON.parse(got.body.toString()).code]).toEqual([
          path,
          403,
          'origin-not-allowed',
        ]);
      }
      expect(origin.targets).toEqual([]);
    } finally {
      await narrow.stop('SIGKILL');
    }
  });
});
