/**
 * Sends heartbeats to other nodes. Requests are signed for the name of the asked node: at an
 * address where the name is not known, or may have changed, the name is asked for first.
 */

import type { Millis } from '@millrace/shared/base/clock';
import { MAX_SILENCE_MS, MIN_SILENCE_MS } from '@millrace/shared/cdn/routing/peer-table';
import { LazyAgent } from '@millrace/shared/node/lazy-agent';
import { readOrThrow } from '@millrace/shared/schema/read';
import type { ClusterAuth } from './cluster-auth.ts';
import {
  ANSWER,
  type HeartbeatAnswer,
  INTRODUCTION,
  readText,
  wantedAddress,
} from './heartbeat.ts';
import { HEARTBEAT_PATH, INTRODUCTION_PATH } from './node-requests.ts';
import { textDigest } from './text-digest.ts';

/**
 * Time after which a heartbeat without an answer counts as missed; a late answer still counts.
 */
export const HEARTBEAT_LATE_MS = MIN_SILENCE_MS;
const HEARTBEAT_TIMEOUT_MS = MAX_SILENCE_MS;
/** Connections to one node: as many heartbeats as can be late at a time, and one more. */
const CONNECTIONS = 6;

/** The node that answers at an address. */
export interface Found {
  /** Undefined if nothing is signed, so that the name need not be known. */
  readonly name?: string;
  /** Address at which the node wants to be asked instead. */
  readonly elsewhere?: string;
}

export class HeartbeatClient {
  readonly #auth: ClusterAuth;
  readonly #now: () => Millis;
  readonly #agent = new LazyAgent({ connections: CONNECTIONS, pipelining: 1, allowH2: false });
  /** Names of nodes by the addresses that they are asked at. */
  readonly #names = new Map<string, string>();

  /** @param now monotonic milliseconds */
  constructor(auth: ClusterAuth, now: () => Millis) {
    this.#auth = auth;
    this.#now = now;
  }

  /**
   * Finds out which node is at an address, unless that is known.
   *
   * @throws any error that prevents a good answer
   */
  async find(url: string): Promise<Found> {
    if (!this.#auth.hasSecret) return {};
    const known = this.#names.get(url);
    if (known !== undefined) return { name: known };
    const introduction = readOrThrow(
      INTRODUCTION,
      await this.#ask(url, undefined, INTRODUCTION_PATH, {}),
    );
    const wanted = wantedAddress(url, introduction);
    if (wanted !== url) return { elsewhere: wanted };
    this.#names.set(url, introduction.name);
    return { name: introduction.name };
  }

  /** Forgets the name at an address without a good answer: another node may be there by now. */
  forget(url: string): void {
    this.#names.delete(url);
  }

  /**
   * Sends a heartbeat, and measures its round trip.
   *
   * @param fields that tell the asked node of this one
   * @throws any error that prevents a good answer
   */
  async heartbeat(
    url: string,
    name: string | undefined,
    fields: Readonly<Record<string, string>>,
  ): Promise<{ readonly answer: HeartbeatAnswer; readonly rtt: Millis }> {
    // Loaded first, so that the round trip does not include it.
    await this.#agent.get();
    const sentAt = this.#now();
    const answer = await this.#ask(url, name, HEARTBEAT_PATH, fields);
    return { rtt: this.#now() - sentAt, answer: readOrThrow(ANSWER, answer) };
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    await this.#agent.destroy();
  }

  async #ask(
    url: string,
    name: string | undefined,
    path: string,
    fields: Readonly<Record<string, string>>,
  ): Promise<unknown> {
    const { headers, nonce } = this.#auth.sign(name, 'GET', path, fields);
    const response = await (await this.#agent.get()).request({
      method: 'GET',
      origin: url,
      path,
      headers,
      signal: AbortSignal.timeout(HEARTBEAT_TIMEOUT_MS),
    });
    const body = await readText(response.body);
    if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
    this.#auth.verifyAnswer(nonce, response.headers, [textDigest(body)]);
    return JSON.parse(body);
  }
}
