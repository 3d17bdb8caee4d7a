/** Packets at the DNS server of a zone, from anybody. */

import { decode } from 'dns-packet';
import { DnsCookies } from '../../edge/src/zone/cookies.ts';
import { readQuery } from '../../edge/src/zone/query.ts';
import { type Outcome, Responder } from '../../edge/src/zone/responder.ts';
import { AnswerLimit } from '../../shared/src/cdn/zone/answer-limit.ts';
import { mutatedBytes } from '../mutate.ts';
import { fuzzTarget, hold } from '../target.ts';

const bytes = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex');

const NAME = '036364 6e 07 6578616d706c65 03 6e6574 00';
const COOKIE = '000a 0008 0102030405060708';
const SUBNET = '0008 0007 0001 18 00 cb0071';
const QUESTIONS = [
  bytes(`1267 0100 0001 0000 0000 0000 ${NAME} 0001 0001`),
  bytes(`1267 0100 0001 0000 0000 0000 01 61 ${NAME} 001c 0001`),
  bytes(`1267 0010 0001 0000 0000 0001 ${NAME} 0002 0001 00 0029 1000 00008000 000c ${COOKIE}`),
  bytes(`1267 0000 0001 0000 0000 0001 ${NAME} 0001 0001 00 0029 04d0 00000000 000b ${SUBNET}`),
  bytes(`1267 0000 0001 0000 0000 0001 ${NAME} 00ff 0001 00 0029 04d0 00000000 0000`),
];

/** Answers a packet. */
function answered(packet: Buffer, transport: 'udp' | 'tcp') {
  const outcomes: Outcome[] = [];
  const responder = new Responder({
    zone: {
      name: ['cdn', 'example', 'net'],
      servers: [{ name: ['ns', 'cdn', 'example', 'net'], addresses: ['192.0.2.53'] }],
      ttlS: 20,
      acme: undefined,
    },
    nameEdges: () => ({ addresses: ['192.0.2.1', '2001:db8::1'], dependsOnClient: true }),
    limit: new AnswerLimit(0),
    cookies: new DnsCookies(Buffer.from('the secret of a network')),
    onOutcome: (outcome) => outcomes.push(outcome),
    onLimited() {},
    now: () => 0,
    wallClock: () => 0,
  });
  return { answer: responder.answer(packet, '198.51.100.1', transport), outcomes };
}

export const targets = [
  fuzzTarget({
    name: 'dns-question',
    cases: mutatedBytes(QUESTIONS),
    check(packet) {
      const query = readQuery(packet);
      const { answer, outcomes } = answered(packet, 'udp');
      hold(outcomes.length === 1, 'each packet is counted once');
      if (answer === undefined) {
        hold(query === undefined, 'only what is no question gets no answer');
        return 'refused';
      }
      hold(answer.length <= 1232, 'an answer fits into one packet');
      hold(query?.edns !== undefined || answer.length <= 512, 'and into 512 bytes without EDNS');
      hold(answer.length <= packet.length + 100, 'it is not much longer than the question');
      const read = decode(answer);
      hold(decode.bytes === answer.length, 'the library reads all of it');
      hold(read.flag_qr && !read.flag_ra, 'it is an answer of a server that asks nobody else');
      hold(read.id === packet.readUInt16BE(0), 'it has the id of the question');
      const { answer: long } = answered(packet, 'tcp');
      hold(long !== undefined && !decode(long).flag_tc, 'by TCP nothing is truncated');
      if (query?.malformed === true) return 'refused';
    },
    long: {
      'a name of short labels without an end': () =>
        Buffer.concat([bytes('1267 0100 0001 0000 0000 0000'), Buffer.alloc(1_000_000, 1)]),
      'options without an end': () =>
        Buffer.concat([
          bytes(`1267 0000 0001 0000 0000 0001 ${NAME} 0001 0001 00 0029 04d0 00000000 ffff`),
          Buffer.alloc(1_000_000),
        ]),
    },
  }),
];
