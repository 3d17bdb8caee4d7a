import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { AUTH_WINDOW_MS, INSIDE } from '@millrace/shared/cdn/routing/inside-message';
import { ClusterAuth } from './cluster-auth.ts';
import { askingNode } from './heartbeat.ts';

const NAME = 'edge-3';
const NOW = 1700000000000;
const SECRET = Buffer.from('the secret of a cluster');
const TARGET = '/https://example.com/file.iso,start=0,end=999999,v=e.abc';
const FIELDS = {
  [INSIDE.mark]: '1',
  [INSIDE.hops]: '1',
  [INSIDE.via]: 'edge-1 edge-2',
  [INSIDE.fileLength]: '123456789',
  [INSIDE.finalUrl]: 'https://mirror.example/file.iso',
  [INSIDE.nodePort]: '3125',
  [INSIDE.want]: 'version',
  'cache-control': 'no-cache',
};

type Fields = Record<string, string | string[]>;

function request(headers: Fields, part: { method?: string; from?: string } = {}): IncomingMessage {
  const { method = 'GET', from = '10.0.0.1' } = part;
  return { method, headers, socket: { remoteAddress: from } } as unknown as IncomingMessage;
}

/** A node whose clock can be set. */
function newNode(secret: Buffer | undefined = SECRET, name = NAME) {
  const clock = { now: NOW };
  return { clock, auth: new ClusterAuth(secret, () => clock.now, name) };
}

const openNode = () => new ClusterAuth(undefined, () => NOW, NAME);
const refused = expect.objectContaining({ code: 'inside-request-refused' });

describe('a request between nodes with the same secret', () => {
  test('is let in, with its fields as they were', () => {
    const { headers } = newNode().auth.sign(NAME, 'GET', TARGET, FIELDS);
    expect(headers).toMatchObject(FIELDS);
    expect(() => newNode().auth.verify(request(headers), TARGET)).not.toThrow();
  });

  test('is let in with no fields but the signature', () => {
    const { headers } = newNode().auth.sign(NAME, 'GET', '/-/ping', {});
    expect(Object.keys(headers)).toEqual([INSIDE.to, INSIDE.auth]);
    expect(() => newNode().auth.verify(request(headers), '/-/ping')).not.toThrow();
  });

  test('does not reveal the secret, and no two look alike', () => {
    const { auth } = newNode();
    const [a, b] = [auth.sign(NAME, 'GET', TARGET, FIELDS), auth.sign(NAME, 'GET', TARGET, FIELDS)];
    expect(a.nonce).not.toBe(b.nonce);
    expect(a.headers[INSIDE.auth]).not.toBe(b.headers[INSIDE.auth]);
    expect(JSON.stringify(a)).not.toContain(SECRET.toString());
    expect(JSON.stringify(a)).not.toContain(SECRET.toString('hex'));
  });
});

describe('a request that was changed on its way', () => {
  const verify = (change: (headers: Fields) => void, method = 'GET', target = TARGET) => {
    const { headers } = newNode().auth.sign(NAME, 'GET', TARGET, FIELDS);
    const changed: Fields = { ...headers };
    change(changed);
    return () => newNode().auth.verify(request(changed, { method }), target);
  };
  const signedFields = Object.keys(FIELDS).filter((name) => name !== INSIDE.mark);

  test.each(signedFields)('is refused with another %s', (name) => {
    expect(verify((headers) => (headers[name] = `${headers[name]}1`))).toThrow(refused);
  });

  test.each(signedFields)('is refused without %s', (name) => {
    expect(verify((headers) => delete headers[name])).toThrow(refused);
  });

  test.each(signedFields)('is refused with a second %s', (name) => {
    expect(verify((headers) => (headers[name] = [headers[name] as string, '2']))).toThrow(refused);
  });

  test.each(signedFields)('is refused if %s was added', (name) => {
    const { headers } = newNode().auth.sign(NAME, 'GET', TARGET, {});
    const req = request({ ...headers, [name]: '1' });
    expect(() => newNode().auth.verify(req, TARGET)).toThrow(refused);
  });

  test('is refused with two values exchanged', () => {
    const exchange = (headers: Fields) => {
      headers[INSIDE.hops] = FIELDS[INSIDE.nodePort];
      headers[INSIDE.nodePort] = FIELDS[INSIDE.hops];
    };
    expect(verify(exchange)).toThrow(refused);
  });

  test('is refused for another target or by another method', () => {
    expect(verify(() => {}, 'GET', TARGET.replace('999999', '999998'))).toThrow(refused);
    expect(verify(() => {}, 'GET', `${TARGET}?`)).toThrow(refused);
    expect(verify(() => {}, 'HEAD')).toThrow(refused);
    expect(verify(() => {})).not.toThrow();
  });

  test.each([
    ['time', /t=(\d)/, 't=2'],
    ['nonce', /n=../, 'n=zz'],
    ['nonce, well-formed', /n=[0-9a-f]{32}/, `n=${'0'.repeat(32)}`],
    ['code', /h=[0-9a-f]{64}/, `h=${'0'.repeat(64)}`],
    ['code, cut short', /h=[0-9a-f]{64}/, `h=${'0'.repeat(62)}`],
    ['everything', /.*/, 'x'],
    ['nothing left', /.*/, ''],
  ])('is refused with another signature: %s', (_, pattern, by) => {
    const change = (headers: Fields) => {
      headers[INSIDE.auth] = (headers[INSIDE.auth] as string).replace(pattern, by);
    };
    expect(verify(change)).toThrow(refused);
  });

  test('is refused with no signature, or two', () => {
    expect(verify((headers) => delete headers[INSIDE.auth])).toThrow(refused);
    const twice = (headers: Fields) => {
      headers[INSIDE.auth] = [headers[INSIDE.auth] as string, headers[INSIDE.auth] as string];
    };
    expect(verify(twice)).toThrow(refused);
  });
});

describe('a request that was signed for one node', () => {
  const others = ['edge-4', 'EDGE-3', 'edge-30', 'edge', '*'];

  test.each(others)('is refused at another one, %s', (name) => {
    const { headers } = newNode().auth.sign(NAME, 'GET', TARGET, FIELDS);
    const other = newNode(SECRET, name).auth;
    expect(() => other.verify(request(headers), TARGET)).toThrow(refused);
    // Nor can it be readdressed, or used as an introduction.
    for (const to of [name, undefined]) {
      const { [INSIDE.to]: _, ...rest } = headers;
      const readdressed = request(to === undefined ? rest : { ...rest, [INSIDE.to]: to });
      expect(() => other.verify(readdressed, TARGET)).toThrow(refused);
      expect(() => other.verifyIntroduction(readdressed, TARGET)).toThrow(refused);
    }
    // It is still valid at its recipient, and has not been used up elsewhere.
    expect(() => newNode().auth.verify(request(headers), TARGET)).not.toThrow();
  });

  test('names it in the signature; an introduction names none, and is valid for nothing else', () => {
    const { headers } = newNode().auth.sign(undefined, 'GET', '/-/introduction', {});
    expect(headers).not.toHaveProperty(INSIDE.to);
    const verify = (as: Fields) => newNode().auth.verify(request(as), '/-/introduction');
    expect(() => verify(headers)).toThrow(refused);
    expect(() => verify({ ...headers, [INSIDE.to]: NAME })).toThrow(refused);
    const introduce = () =>
      newNode(SECRET, 'any').auth.verifyIntroduction(request(headers), '/-/introduction');
    expect(introduce).not.toThrow();
  });

  test('is refused if its recipient is named twice', () => {
    const { headers } = newNode().auth.sign(NAME, 'GET', TARGET, FIELDS);
    const twice = request({ ...headers, [INSIDE.to]: [NAME, NAME] });
    expect(() => newNode().auth.verify(twice, TARGET)).toThrow(refused);
  });
});

describe('a request from elsewhere', () => {
  test('is refused if it was signed with another secret, or none', () => {
    const other = newNode(Buffer.from('another secret')).auth.sign(NAME, 'GET', TARGET, FIELDS);
    const none = openNode().sign(NAME, 'GET', TARGET, FIELDS);
    for (const { headers } of [other, none]) {
      const req = request(headers, { from: '127.0.0.1' });
      expect(() => newNode().auth.verify(req, TARGET)).toThrow(refused);
    }
  });

  test.each([
    [-AUTH_WINDOW_MS - 1, false],
    [-AUTH_WINDOW_MS, true],
    [AUTH_WINDOW_MS, true],
    [AUTH_WINDOW_MS + 1, false],
  ])('is let in if it comes %d ms after its time: %s', (late, accepted) => {
    const { headers } = newNode().auth.sign(NAME, 'GET', TARGET, FIELDS);
    const { auth, clock } = newNode();
    clock.now = NOW + late;
    const verify = () => auth.verify(request(headers), TARGET);
    if (accepted) expect(verify).not.toThrow();
    else expect(verify).toThrow(refused);
  });

  test('is refused when it is replayed, however late', () => {
    const { headers } = newNode().auth.sign(NAME, 'GET', TARGET, FIELDS);
    const { auth, clock } = newNode();
    auth.verify(request(headers), TARGET);
    for (const later of [0, 1, AUTH_WINDOW_MS, AUTH_WINDOW_MS + 1, 10 * AUTH_WINDOW_MS]) {
      clock.now = NOW + later;
      expect(() => auth.verify(request(headers), TARGET)).toThrow(refused);
    }
  });

  test('does not use up the nonce of a good request when it is refused', () => {
    const { headers } = newNode().auth.sign(NAME, 'GET', TARGET, FIELDS);
    const { auth } = newNode();
    const forged = request({ ...headers, [INSIDE.hops]: '0' });
    expect(() => auth.verify(forged, TARGET)).toThrow(refused);
    expect(() => auth.verify(request(headers), TARGET)).not.toThrow();
  });
});

describe('a node without a secret', () => {
  test('reports that it has none, and sends no signature', () => {
    expect(openNode().hasSecret).toBe(false);
    expect(newNode().auth.hasSecret).toBe(true);
    expect(openNode().sign(NAME, 'GET', TARGET, FIELDS).headers).toEqual(FIELDS);
  });

  test.each(['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1'])('lets in %s', (from) => {
    expect(() => openNode().verify(request({}, { from }), TARGET)).not.toThrow();
  });

  test.each(['10.0.0.1', '192.168.1.1', '0.0.0.0', '::', '::ffff:10.0.0.1', 'fe80::1', '', 'x'])(
    'does not let in %j, signed or not',
    (from) => {
      const { headers } = newNode().auth.sign(NAME, 'GET', TARGET, FIELDS);
      for (const fields of [{}, headers]) {
        expect(() => openNode().verify(request(fields, { from }), TARGET)).toThrow(refused);
      }
    },
  );

  test('does not let in a connection that is gone already', () => {
    const req = { method: 'GET', headers: {}, socket: {} } as unknown as IncomingMessage;
    expect(() => openNode().verify(req, TARGET)).toThrow(refused);
  });
});

describe('an answer', () => {
  const PARTS = ['200', 'sha-256=:abc=:', '1000'];

  /** A request's nonce, and the header of its answer. */
  function exchange(parts = PARTS, answering = newNode().auth) {
    const { headers, nonce } = newNode().auth.sign(NAME, 'GET', TARGET, FIELDS);
    return { nonce, answer: answering.signAnswer(request(headers), parts) };
  }

  test('of a node with the secret is accepted', () => {
    const { nonce, answer } = exchange();
    expect(() => newNode().auth.verifyAnswer(nonce, answer, PARTS)).not.toThrow();
  });

  test('is refused if any part of it was changed', () => {
    const { nonce, answer } = exchange();
    const { auth } = newNode();
    const changes = PARTS.map((_, i) => PARTS.map((part, j) => (i === j ? `${part}0` : part)));
    for (const parts of [...changes, PARTS.slice(1), [...PARTS, ''], ['200', PARTS.join('')]]) {
      expect(() => auth.verifyAnswer(nonce, answer, parts)).toThrow(refused);
    }
  });

  test('to another request is refused', () => {
    const [a, b] = [exchange(), exchange()];
    expect(() => newNode().auth.verifyAnswer(a.nonce, b.answer, PARTS)).toThrow(refused);
  });

  test('without a signature, or with a wrong one, is refused', () => {
    const { nonce } = exchange();
    const { answer } = exchange(PARTS, newNode(Buffer.from('another secret')).auth);
    const wrong = ['', 'x', '0'.repeat(62), '0'.repeat(64)].map((v) => ({ [INSIDE.auth]: v }));
    for (const headers of [{}, answer, ...wrong]) {
      expect(() => newNode().auth.verifyAnswer(nonce, headers, PARTS)).toThrow(refused);
    }
  });

  test('is not signed for an unsigned request, nor without a secret', () => {
    expect(newNode().auth.signAnswer(request({}), PARTS)).toEqual({});
    expect(exchange(PARTS, openNode()).answer).toEqual({});
  });

  test('needs no signature without a secret', () => {
    expect(() => openNode().verifyAnswer('nonce', {}, PARTS)).not.toThrow();
  });
});

test('an asking node is not known by an address that is not a web address', () => {
  const asking = (url: string) =>
    askingNode({ headers: { [INSIDE.nodeUrl]: url }, socket: {} } as unknown as IncomingMessage);
  expect(asking('http://10.0.0.1:3125/x')).toBe('http://10.0.0.1:3125');
  // Their web origin is the text "null", which is not a URL.
  for (const url of ['data:x', 'javascript:1', 'file:///x']) expect(asking(url)).toBeUndefined();
});
