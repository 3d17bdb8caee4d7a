import { describe, expect, test } from '@jest/globals';
import { answerQuestion, RCODE, TYPE, type Zone } from './zone.ts';
import { labelsBelow, parseName } from './zone-name.ts';

const ZONE: Zone = {
  name: parseName('cdn.example.net'),
  servers: [
    { name: parseName('ns.example.org'), addresses: [] },
    { name: parseName('ns1.dns.cdn.example.net'), addresses: ['192.0.2.53', '2001:db8::53'] },
  ],
  ttlS: 20,
  acme: parseName('challenge.example.org'),
};
const EDGES = ['192.0.2.1', '2001:db8::1', '192.0.2.2'];

/** Asks the zone; `edges` is what it may name. */
const ask = (name: string, type: number, edges: readonly string[] = EDGES) =>
  answerQuestion(ZONE, parseName(name), type, () => edges);

/** The answer's records as text. */
function shown(name: string, type: number) {
  const { rcode, answers, authority } = ask(name, type);
  const texts = answers.map(({ owner, data }) =>
    [owner.join('.'), ...Object.values(data)].join(' '),
  );
  return { rcode, answers: texts, authority: authority.map(({ data }) => data.type) };
}

describe('a zone', () => {
  test.each(['cdn.example.net', 'downloads.cdn.example.net', 'a.b.cdn.example.net'])(
    'names the edges for itself and for all names below: %s',
    (name) => {
      expect(shown(name, TYPE.A)).toEqual({
        rcode: RCODE.NOERROR,
        answers: [`${name} A 192.0.2.1`, `${name} A 192.0.2.2`],
        authority: [],
      });
      expect(shown(name, TYPE.AAAA).answers).toEqual([`${name} AAAA 2001:db8::1`]);
    },
  );

  test('answers that name edges are kept for its short time, those about itself for an hour', () => {
    expect(ask('cdn.example.net', TYPE.A)).toMatchObject({ namesEdges: true, authoritative: true });
    expect(ask('cdn.example.net', TYPE.A).answers[0]?.ttlS).toBe(20);
    const servers = ask('cdn.example.net', TYPE.NS);
    expect(servers.answers[0]?.ttlS).toBe(3600);
    expect(servers.namesEdges).toBe(false);
  });

  test('names its servers, with the addresses of those in the zone', () => {
    expect(shown('cdn.example.net', TYPE.NS).answers).toEqual([
      'cdn.example.net NS ns,example,org',
      'cdn.example.net NS ns1,dns,cdn,example,net',
    ]);
    const { additional } = ask('cdn.example.net', TYPE.NS);
    expect(additional.map(({ owner, data }) => [owner.join('.'), data])).toEqual([
      ['ns1.dns.cdn.example.net', { type: 'A', address: '192.0.2.53' }],
      ['ns1.dns.cdn.example.net', { type: 'AAAA', address: '2001:db8::53' }],
    ]);
    expect(shown('ns1.dns.cdn.example.net', TYPE.A).answers).toEqual([
      'ns1.dns.cdn.example.net A 192.0.2.53',
    ]);
  });

  test('has a SOA record, which negative answers carry with the time that they may be kept', () => {
    const [own] = ask('cdn.example.net', TYPE.SOA).answers;
    expect(own?.data).toMatchObject({
      type: 'SOA',
      server: parseName('ns.example.org'),
      mailbox: parseName('hostmaster.cdn.example.net'),
      minimumS: 20,
    });
    const none = ask('cdn.example.net', 16);
    expect(none).toMatchObject({ rcode: RCODE.NOERROR, authoritative: true, answers: [] });
    expect(none.authority).toEqual([own]);
  });

  test('names on the way to a server exist without records, names below it do not exist', () => {
    const empty = { rcode: RCODE.NOERROR, answers: [], authority: ['SOA'] };
    expect(shown('dns.cdn.example.net', TYPE.A)).toEqual(empty);
    expect(shown('ns1.dns.cdn.example.net', 16)).toEqual(empty);
    const missing = { rcode: RCODE.NXDOMAIN, answers: [], authority: ['SOA'] };
    expect(shown('a.ns1.dns.cdn.example.net', TYPE.A)).toEqual(missing);
    expect(shown('ns2.dns.cdn.example.net', TYPE.A)).toEqual(missing);
  });

  test('passes the question of a certificate authority on', () => {
    expect(shown('_acme-challenge.cdn.example.net', 16).answers).toEqual([
      '_acme-challenge.cdn.example.net CNAME challenge,example,org',
    ]);
    const without = { ...ZONE, acme: undefined };
    const name = parseName('_acme-challenge.cdn.example.net');
    expect(answerQuestion(without, name, 16, () => EDGES).answers).toEqual([]);
  });

  test('answers ANY with one small record', () => {
    expect(shown('cdn.example.net', TYPE.ANY).answers).toEqual(['cdn.example.net HINFO RFC8482 ']);
  });

  test('refuses other names and transfers of itself, without authority', () => {
    const refused = { rcode: RCODE.REFUSED, authoritative: false, answers: [], authority: [] };
    expect(ask('example.net', TYPE.A)).toMatchObject(refused);
    expect(ask('xcdn.example.net', TYPE.A)).toMatchObject(refused);
    expect(ask('cdn.example.net', TYPE.AXFR)).toMatchObject(refused);
    expect(ask('cdn.example.net', TYPE.IXFR)).toMatchObject(refused);
  });

  test('a family that no edge has is no failure, but no edge at all is one', () => {
    expect(ask('cdn.example.net', TYPE.AAAA, ['192.0.2.1'])).toMatchObject({
      rcode: RCODE.NOERROR,
      answers: [],
      namesEdges: true,
    });
    expect(ask('cdn.example.net', TYPE.A, [])).toMatchObject({
      rcode: RCODE.SERVFAIL,
      authority: [],
    });
  });
});

describe('names', () => {
  test('are read without regard to letters and to a dot at the end', () => {
    expect(parseName('CDN.Example.NET.')).toEqual(['cdn', 'example', 'net']);
  });

  test.each(['', '.', 'a..b', '-a.net', 'a b.net', `${'a'.repeat(64)}.net`, 'x.'.repeat(128)])(
    'that the DNS cannot have are refused: %s',
    (text) => {
      expect(() => parseName(text)).toThrow(expect.objectContaining({ code: 'bad-option' }));
    },
  );

  test('are in a zone if its labels are at their end', () => {
    const zone = parseName('cdn.example.net');
    expect(labelsBelow(zone, zone)).toEqual([]);
    expect(labelsBelow(zone, parseName('a.b.cdn.example.net'))).toEqual(['a', 'b']);
    expect(labelsBelow(zone, parseName('example.net'))).toBeUndefined();
  });
});
