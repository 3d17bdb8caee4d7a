import { describe, expect, test } from '@jest/globals';
import { AnswerLimit } from '@millrace/shared/cdn/zone/answer-limit';
import { decode, encode, type Packet } from 'dns-packet';
import { DnsCookies } from './cookies.ts';
import { type Outcome, Responder, type Transport } from './responder.ts';

const NOW = 1_700_000_000_000;
const RESOLVER = '198.51.100.53';

/** A server whose edges depend on the client, with everything that it reports. */
function stage(rate = 0) {
  const outcomes: string[] = [];
  const limited: string[] = [];
  const clients: string[] = [];
  const clock = { now: 0 };
  const responder = new Responder({
    zone: {
      name: ['cdn', 'example', 'net'],
      servers: [
        { name: ['ns', 'example', 'org'], addresses: [] },
        ...Array.from({ length: 12 }, (_, i) => ({
          name: [`a-rather-long-name-of-server-${i}`, 'dns', 'example', 'org'],
          addresses: [],
        })),
      ],
      ttlS: 20,
      acme: undefined,
    },
    nameEdges(client) {
      clients.push(client);
      return { addresses: ['192.0.2.1', '2001:db8::1'], dependsOnClient: true };
    },
    limit: new AnswerLimit(rate),
    cookies: new DnsCookies(Buffer.from('the secret of a network')),
    onOutcome: (outcome: Outcome, transport: Transport) => outcomes.push(`${transport} ${outcome}`),
    onLimited: (outcome, client) => limited.push(`${outcome} ${client}`),
    now: () => clock.now,
    wallClock: () => NOW,
  });
  const ask = (packet: Buffer, transport: Transport = 'udp', from = RESOLVER) => {
    const answer = responder.answer(packet, from, transport);
    return answer === undefined ? undefined : decode(answer);
  };
  return { responder, ask, outcomes, limited, clients, clock };
}

const question = (name = 'cdn.example.net', type = 'A', more: Partial<Packet> = {}) =>
  encode({ type: 'query', id: 4711, questions: [{ name, type: type as 'A' }], ...more });

/** A question with EDNS. @param options their values by code */
function withEdns(options: Readonly<Record<number, string>> = {}, more: object = {}, type = 'A') {
  const list = Object.entries(options).map(([code, hex]) => ({
    code: Number(code),
    data: Buffer.from(hex.replaceAll(' ', ''), 'hex'),
  }));
  const edns = { type: 'OPT', name: '.', udpPayloadSize: 4096, flags: 0, options: list, ...more };
  return question('cdn.example.net', type, { additionals: [edns] } as unknown as Packet);
}

const optOf = (answer: ReturnType<typeof decode> | undefined) => {
  const opt = answer?.additionals?.find((record) => record.type === 'OPT');
  return opt as unknown as {
    udpPayloadSize: number;
    extendedRcode: number;
    options: { code: number; data: Buffer; scopePrefixLength?: number }[];
  };
};

describe('an answer', () => {
  test('repeats the question in its own letters, and its id', () => {
    const { responder } = stage();
    const packet = question('Cdn.EXAMPLE.net');
    const answer = responder.answer(packet, RESOLVER, 'udp') as Buffer;
    expect(answer.subarray(12, packet.length)).toEqual(packet.subarray(12));
    expect(decode(answer)).toMatchObject({
      id: 4711,
      type: 'response',
      rcode: 'NOERROR',
      flag_aa: true,
      flag_ra: false,
      flag_tc: false,
      answers: [{ name: 'Cdn.EXAMPLE.net', type: 'A', ttl: 20, data: '192.0.2.1' }],
    });
    // The question, and 16 bytes for the record.
    expect(answer).toHaveLength(packet.length + 16);
  });

  test('is the expected packet, byte for byte', () => {
    const asked = '1267010000010000000000000363646e076578616d706c65036e65740000010001';
    const { responder } = stage();
    const answer = responder.answer(Buffer.from(asked, 'hex'), RESOLVER, 'udp');
    const head = '1267850000010001000000000363646e076578616d706c65036e65740000010001';
    expect(answer?.toString('hex')).toBe(`${head}c00c00010001000000140004c0000201`);
  });

  test('for names with any bytes is about these bytes', () => {
    const { responder } = stage();
    const odd = Buffer.from('0480ff2e41', 'hex'); // a label with a dot in it
    const rest = Buffer.from('0363646e076578616d706c65036e65740000010001', 'hex');
    const head = Buffer.from('126701000001000000000000', 'hex');
    const answer = responder.answer(Buffer.concat([head, odd, rest]), RESOLVER, 'udp') as Buffer;
    expect(answer.subarray(12, 12 + odd.length + rest.length)).toEqual(Buffer.concat([odd, rest]));
    expect(answer.readUInt16BE(6)).toBe(1);
  });

  test('carries the zone for names that have no such record', () => {
    const { ask, outcomes } = stage();
    const answer = ask(question('a.cdn.example.net', 'TXT'));
    expect(answer).toMatchObject({ rcode: 'NOERROR', answers: [], flag_aa: true });
    expect(answer?.authorities).toMatchObject([
      {
        name: 'cdn.example.net',
        type: 'SOA',
        ttl: 20,
        data: { mname: 'ns.example.org', rname: 'hostmaster.cdn.example.net', minimum: 20 },
      },
    ]);
    expect(outcomes).toEqual(['udp no-data']);
  });

  test('to other names, classes and transfers is a refusal', () => {
    const { ask, outcomes } = stage();
    for (const packet of [
      question('example.net'),
      question('cdn.example.net', 'AXFR'),
      encode({
        type: 'query',
        questions: [{ name: 'version.bind', type: 'TXT', class: 'CH' }],
      }),
    ]) {
      expect(ask(packet)).toMatchObject({ rcode: 'REFUSED', flag_aa: false, answers: [] });
    }
    expect(outcomes).toEqual(Array(3).fill('udp refused'));
  });

  test('to ANY is one small record', () => {
    const answers = stage().ask(question('cdn.example.net', 'ANY'))?.answers;
    expect(answers).toMatchObject([{ type: 'HINFO', data: { cpu: 'RFC8482', os: '' } }]);
  });
});

describe('the size of an answer', () => {
  test('by UDP stays within 512 bytes without EDNS, else it is truncated; TCP has it all', () => {
    const { responder, ask, outcomes } = stage();
    const packet = question('cdn.example.net', 'NS');
    const answer = responder.answer(packet, RESOLVER, 'udp') as Buffer;
    expect(answer).toHaveLength(packet.length);
    expect(decode(answer)).toMatchObject({ flag_tc: true, answers: [] });
    expect(ask(packet, 'tcp')?.answers).toHaveLength(13);
    expect(outcomes).toEqual(['udp truncated', 'tcp answered']);
  });

  test('grows to what the resolver takes, at most 1232 bytes', () => {
    const { ask, responder } = stage();
    const answer = ask(withEdns({}, { udpPayloadSize: 65_535 }, 'NS'));
    expect(answer).toMatchObject({ flag_tc: false });
    expect(answer?.answers).toHaveLength(13);
    expect(optOf(answer).udpPayloadSize).toBe(1232);
    const small = withEdns({}, { udpPayloadSize: 100 }, 'NS');
    expect((responder.answer(small, RESOLVER, 'udp') as Buffer).length).toBeLessThanOrEqual(512);
  });
});

describe('the network of a client', () => {
  test('counts instead of the resolver, and comes back with the bits that matter', () => {
    const { ask, clients } = stage();
    const answer = ask(withEdns({ 8: '0001 18 00 cb0071' }));
    expect(clients).toEqual(['203.0.113.0']);
    expect(optOf(answer).options).toMatchObject([{ code: 8, scopePrefixLength: 24 }]);
    ask(withEdns({ 8: '0002 38 00 20010db8000001' }));
    expect(clients[1]).toBe('2001:db8:0:100:0:0:0:0');
  });

  test('that is told more exactly than it matters comes back with fewer bits', () => {
    const answer = stage().ask(withEdns({ 8: '0001 20 00 cb007107' }));
    expect(optOf(answer).options[0]?.scopePrefixLength).toBe(24);
  });

  test('does not matter for records of the zone itself, nor if it is withheld', () => {
    const { ask, clients } = stage();
    const soa = ask(withEdns({ 8: '0001 18 00 cb0071' }, {}, 'SOA'));
    expect(optOf(soa).options[0]?.scopePrefixLength).toBe(0);
    const withheld = ask(withEdns({ 8: '0001 00 00' }));
    expect(optOf(withheld).options[0]?.scopePrefixLength).toBe(0);
    expect(clients).toEqual([RESOLVER]);
  });

  test('that is malformed makes the question malformed', () => {
    const answer = stage().ask(withEdns({ 8: '0001 18 00 cb00' }));
    expect(answer).toMatchObject({ rcode: 'FORMERR', answers: [] });
  });
});

describe('addresses that may be forged', () => {
  const COOKIE = '0102030405060708';

  test('get no more than the rate; every second answer above it is truncated', () => {
    const { responder, limited, outcomes } = stage(5);
    const packet = question();
    const answers = Array.from({ length: 14 }, () => responder.answer(packet, RESOLVER, 'udp'));
    const [first, ...over] = answers.slice(10);
    expect(decode(first as Buffer)).toMatchObject({ flag_tc: true, answers: [] });
    expect(first).toHaveLength(packet.length);
    expect(over.map((answer) => answer === undefined)).toEqual([true, false, true]);
    expect(outcomes.slice(10)).toEqual([
      'udp limited',
      'udp dropped',
      'udp limited',
      'udp dropped',
    ]);
    expect(limited).toEqual([
      `delayed ${RESOLVER}`,
      `refused ${RESOLVER}`,
      `delayed ${RESOLVER}`,
      `refused ${RESOLVER}`,
    ]);
  });

  test('count by network', () => {
    const { responder } = stage(1);
    responder.answer(question(), '198.51.100.1', 'udp');
    responder.answer(question(), '198.51.100.2', 'udp');
    const third = responder.answer(question(), '198.51.100.3', 'udp') as Buffer;
    expect(decode(third).flag_tc).toBe(true);
    const other = responder.answer(question(), '198.51.101.1', 'udp') as Buffer;
    expect(decode(other).flag_tc).toBe(false);
  });

  test('are not limited once they return the cookie, or ask by TCP', () => {
    const { ask } = stage(1);
    const first = optOf(ask(withEdns({ 10: COOKIE }))).options[0]?.data as Buffer;
    expect(first.toString('hex').slice(0, 16)).toBe(COOKIE);
    expect(first).toHaveLength(24);
    for (let i = 0; i < 5; i++) ask(question());
    for (let i = 0; i < 5; i++) {
      expect(ask(withEdns({ 10: first.toString('hex') }))).toMatchObject({ flag_tc: false });
      expect(ask(question(), 'tcp')).toMatchObject({ flag_tc: false });
    }
  });

  test('learn a cookie from a truncated answer too', () => {
    const { ask } = stage(1);
    ask(question());
    ask(question());
    const cut = ask(withEdns({ 10: COOKIE }));
    expect(cut?.flag_tc).toBe(true);
    const learned = optOf(cut).options[0]?.data as Buffer;
    expect(ask(withEdns({ 10: learned.toString('hex') }))).toMatchObject({ flag_tc: false });
  });

  test.each([
    ['a short one', '01020304'],
    ['one with half a part of a server', `${COOKIE}0102`],
  ])('%s is malformed', (_, hex) => {
    expect(stage().ask(withEdns({ 10: hex }))).toMatchObject({ rcode: 'FORMERR' });
  });

  test('get at most twice and a bit what they asked with', () => {
    const { responder } = stage();
    for (const type of ['A', 'AAAA', 'SOA', 'TXT', 'ANY', 'AXFR']) {
      const packet = withEdns({ 8: '0001 18 00 cb0071' }, {}, type);
      const answer = responder.answer(packet, RESOLVER, 'udp') as Buffer;
      expect([type, answer.length < 2.5 * packet.length]).toEqual([type, true]);
    }
  });
});

describe('packets that are no questions', () => {
  test.each([
    ['nothing', ''],
    ['half a header', '126701000001'],
    ['an answer, which an answer to could go on for ever', `1267${'85'}00${'0001000000000000'}`],
  ])('get no answer: %s', (_, hex) => {
    const { ask, outcomes } = stage();
    expect(ask(Buffer.from(hex, 'hex'))).toBeUndefined();
    expect(outcomes).toEqual(['udp ignored']);
  });

  test.each([
    ['no question', '126701000000000000000000', 'FORMERR'],
    ['two questions', `126701000002000000000000${'00000100010000010001'}`, 'FORMERR'],
    ['a name that ends in the middle', '126701000001000000000000036364', 'FORMERR'],
    ['a name that points into the header', '126701000001000000000000c00000010001', 'FORMERR'],
    ['bytes behind the question', `126701000001000000000000${'0000010001'}ff`, 'FORMERR'],
    ['65535 further records', `12670100000100000000ffff${'0000010001'}`, 'FORMERR'],
    ['an answer inside', `126701000001000100000000${'0000010001'}`, 'FORMERR'],
    ['another operation', `12672800000100000000000000${'00010001'}`, 'NOTIMP'],
  ])('get a short error: %s', (_, hex, rcode) => {
    const { responder } = stage();
    const answer = responder.answer(Buffer.from(hex, 'hex'), RESOLVER, 'udp') as Buffer;
    expect(answer.length).toBeLessThanOrEqual(Math.max(12, hex.length / 2));
    expect([answer.readUInt16BE(0), answer.readUInt16BE(2) & 15]).toEqual([
      0x1267,
      rcode === 'FORMERR' ? 1 : 4,
    ]);
  });

  test('of a later EDNS are told which one is known', () => {
    const answer = stage().ask(withEdns({}, { ednsVersion: 1 }));
    expect(answer?.answers).toEqual([]);
    expect(optOf(answer)).toMatchObject({ extendedRcode: 1, ednsVersion: 0 });
  });

  test('two records of EDNS are malformed', () => {
    const edns = { type: 'OPT', name: '.', udpPayloadSize: 4096, flags: 0, options: [] };
    const packet = question('cdn.example.net', 'A', {
      additionals: [edns, edns],
    } as unknown as Packet);
    expect(stage().ask(packet)).toMatchObject({ rcode: 'FORMERR' });
  });
});
