/** Answers the packets of a zone's DNS server: bytes in, bytes out, no sockets. */

import type { Millis } from '@millrace/shared/base/clock';
import type { AnswerLimit } from '@millrace/shared/cdn/zone/answer-limit';
import { subnetAddress, writeClientSubnet } from '@millrace/shared/cdn/zone/client-subnet';
import type { NamedEdges } from '@millrace/shared/cdn/zone/named-edges';
import {
  answerQuestion,
  CLASS_IN,
  RCODE,
  type Rcode,
  type Zone,
  type ZoneAnswer,
} from '@millrace/shared/cdn/zone/zone';
import type { DnsCookies } from './cookies.ts';
import { askingNetwork } from './networks.ts';
import { type Query, readQuery } from './query.ts';
import { type EdnsOption, PLAIN_UDP_BYTES, type Reply, UDP_BYTES, writeReply } from './reply.ts';

/** Longest answer by TCP, bytes. */
const TCP_BYTES = 65_535;
/** Bits of a client's address that the choice of edges may depend on. */
const SCOPE_BITS = { 4: 24, 6: 48 } as const;
const OPTION = { subnet: 8, cookie: 10 } as const;
const OPCODE_QUERY = 0;

export type Transport = 'udp' | 'tcp';

/** Fate of a packet, for the metrics. */
export type Outcome =
  /** Answered with records of edges or of the zone itself. */
  | 'answered'
  /** A name of the zone without such records; a name that it does not have. */
  | 'no-data'
  | 'no-name'
  /** A name outside the zone, or a transfer of the zone. */
  | 'refused'
  /** Nothing that this server can answer: an error is sent. */
  | 'unusable'
  /** No edge is known yet. */
  | 'no-edge'
  /** Too long for UDP; over the rate: truncated, or left without an answer. */
  | 'truncated'
  | 'limited'
  | 'dropped'
  /** Not a question: left without an answer. */
  | 'ignored';

export interface ResponderOptions {
  readonly zone: Zone;
  /** Names edges for a client, by an address of its network. */
  readonly nameEdges: (client: string) => NamedEdges;
  readonly limit: AnswerLimit;
  readonly cookies: DnsCookies;
  readonly onOutcome: (outcome: Outcome, transport: Transport) => void;
  /** Called for an answer that was truncated or dropped by the limit. */
  readonly onLimited: (outcome: 'delayed' | 'refused', client: string) => void;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
}

export class Responder {
  readonly #options: ResponderOptions;

  constructor(options: ResponderOptions) {
    this.#options = options;
  }

  /**
   * Answers a packet.
   *
   * @param client address that it came from
   * @returns undefined if it gets no answer
   */
  answer(packet: Buffer, client: string, transport: Transport): Buffer | undefined {
    const query = readQuery(packet);
    const done = (outcome: Outcome) => this.#options.onOutcome(outcome, transport);
    if (query === undefined) return void done('ignored');
    const verdict = transport === 'tcp' ? 'send' : this.#judge(query, client);
    if (verdict !== 'send') {
      this.#options.onLimited(verdict === 'drop' ? 'refused' : 'delayed', client);
      done(verdict === 'drop' ? 'dropped' : 'limited');
      if (verdict === 'drop') return undefined;
    }
    // An answer that is cut needs no choice of edges.
    const { reply, outcome } =
      verdict === 'truncate'
        ? { reply: this.#reply(query, client, EMPTY), outcome: undefined }
        : this.#decide(query, client);
    const most = transport === 'tcp' ? TCP_BYTES : roomOf(query);
    const written = writeReply(query, reply, most, verdict === 'truncate');
    if (outcome !== undefined) done(written.truncated ? 'truncated' : outcome);
    return written.packet;
  }

  /** A resolver that has shown that answers reach it is not limited. */
  #judge({ edns }: Query, client: string) {
    const { cookies, limit, now, wallClock } = this.#options;
    if (cookies.proves(edns?.cookie, client, wallClock())) return 'send';
    return limit.judge(askingNetwork(client), now());
  }

  #decide(query: Query, client: string): { reply: Reply; outcome: Outcome } {
    const { edns, question } = query;
    const fails = (rcode: Rcode, outcome: Outcome = 'unusable') => ({
      reply: this.#reply(query, client, { ...EMPTY, rcode }),
      outcome,
    });
    if (query.opcode !== OPCODE_QUERY) return fails(RCODE.NOTIMP);
    if (query.malformed || question === undefined) return fails(RCODE.FORMERR);
    if (edns !== undefined && edns.version !== 0) return fails(RCODE.BADVERS);
    if (question.class !== CLASS_IN) return fails(RCODE.REFUSED, 'refused');
    const subnet = edns?.subnet;
    // A resolver that tells no bits wants its client's address out of it (RFC 7871 7.1.2).
    const told = subnet !== undefined && subnet.bits > 0 ? subnetAddress(subnet) : client;
    let named: NamedEdges | undefined;
    const answer = answerQuestion(this.#options.zone, question.labels, question.type, () => {
      named = this.#options.nameEdges(told);
      return named.addresses;
    });
    const depends = answer.namesEdges && named?.dependsOnClient === true;
    return { reply: this.#reply(query, client, answer, depends), outcome: outcomeOf(answer) };
  }

  #reply(query: Query, client: string, answer: ZoneAnswer, depends = false): Reply {
    const { edns } = query;
    if (edns === undefined) return { ...answer, options: undefined };
    const options: EdnsOption[] = [];
    const { subnet, cookie } = edns;
    if (subnet !== undefined) {
      const scope = depends ? Math.min(subnet.bits, SCOPE_BITS[subnet.family]) : 0;
      options.push({ code: OPTION.subnet, data: writeClientSubnet(subnet, scope) });
    }
    if (cookie !== undefined) {
      const data = this.#options.cookies.make(cookie.client, client, this.#options.wallClock());
      options.push({ code: OPTION.cookie, data });
    }
    return { ...answer, options };
  }
}

const EMPTY: ZoneAnswer = {
  rcode: RCODE.NOERROR,
  authoritative: false,
  answers: [],
  authority: [],
  additional: [],
  namesEdges: false,
};

/** Longest answer by UDP to a question. */
function roomOf({ edns }: Query): number {
  if (edns === undefined) return PLAIN_UDP_BYTES;
  return Math.min(Math.max(edns.udpBytes, PLAIN_UDP_BYTES), UDP_BYTES);
}

function outcomeOf({ rcode, answers }: ZoneAnswer): Outcome {
  if (rcode === RCODE.REFUSED) return 'refused';
  if (rcode === RCODE.SERVFAIL) return 'no-edge';
  if (rcode === RCODE.NXDOMAIN) return 'no-name';
  return answers.length > 0 ? 'answered' : 'no-data';
}
