/**
 * Passes commands on to all nodes of the network, and reads purges and pins from nodes whose digest
 * differs. Commands are signed with the network's secret or, without one, with the administrators'
 * token; without either they are refused.
 */

import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { Log } from '@millrace/shared/base/log';
import { LazyAgent } from '@millrace/shared/node/lazy-agent';
import { readOrThrow } from '@millrace/shared/schema/read';
import { type Command, OUTCOME, type Outcome, PIN_LIST, PURGE_LOG } from '../cache/commands.ts';
import type { Pins } from '../cache/pins.ts';
import type { Purges } from '../cache/purges.ts';
import type { ClusterAuth } from '../peers/cluster-auth.ts';
import { readText } from '../peers/heartbeat.ts';
import { COMMAND_PATH, PINS_PATH, PURGE_LOG_PATH } from '../peers/node-requests.ts';
import { textDigest } from '../peers/text-digest.ts';
import type { Digests } from '../peers/version-message.ts';

/** Longest wait for another node's answer. */
const TIMEOUT_MS = 5000;
/** Longest log of purges or list of pins, as JSON with every character escaped at worst. */
const MAX_LIST_BYTES = 8 * 1024 * 1024;

export interface PeerCommandsOptions {
  readonly auth: ClusterAuth;
  /** Signs commands; undefined: none are passed on or taken. */
  readonly commandAuth: ClusterAuth | undefined;
  readonly purges: Purges;
  readonly pins: Pins;
  /** All known nodes, dead ones included. */
  readonly peers: () => Iterable<OtherNode>;
  readonly log: Log;
}

/** Another node: requests are signed for its name. */
export interface OtherNode {
  readonly name: string;
  readonly url: string;
}

/** Result of a command at another node. */
export interface NodeResult {
  readonly name: string;
  readonly url: string;
  readonly ok: boolean;
  readonly code?: string;
  readonly detail?: string;
}

export class PeerCommands {
  readonly #options: PeerCommandsOptions;
  readonly #agent = new LazyAgent({ connections: 2, pipelining: 1, allowH2: false });
  readonly #reading = new Set<string>();

  constructor(options: PeerCommandsOptions) {
    this.#options = options;
  }

  async stop(): Promise<void> {
    await this.#agent.destroy();
  }

  /** Sends a command to all other nodes, which carry it out. */
  async pass(command: Command): Promise<NodeResult[]> {
    return Promise.all(
      [...this.#options.peers()].map(async ({ name, url }) => {
        try {
          const outcome = await this.#send({ name, url }, command);
          if (outcome.ok) return { name, url, ok: true };
          return { name, url, ok: false, code: outcome.code, detail: outcome.detail };
        } catch (error) {
          const { code, detail } = asReason(error);
          return { name, url, ok: false, code, detail };
        }
      }),
    );
  }

  /** Digests of the state that all nodes of a network share. */
  get digests(): Digests {
    const { purges, pins } = this.#options;
    return { purges: purges.digest, pins: pins.digest };
  }

  /**
   * Compares the digests that another node has told with this node's. Resolves once this node has
   * carried out the purges that it had missed; pins can wait. Never rejects.
   */
  readonly heard = async (node: OtherNode, digests: Digests): Promise<void> => {
    const { url } = node;
    const { purges, pins, log } = this.#options;
    const own = this.digests;
    if (digests.pins !== undefined && digests.pins !== own.pins) {
      void this.#once(`${url}${PINS_PATH}`, async (from) => {
        const count = await pins.learn(
          readOrThrow(PIN_LIST, await this.#get(node, PINS_PATH)).pins,
        );
        if (count > 0) log.info({ url: from, pins: count }, 'pins learnt from another node');
      });
    }
    if (digests.purges === undefined || digests.purges === own.purges) return;
    await this.#once(`${url}${PURGE_LOG_PATH}`, async (from) => {
      const count = await purges.learn(
        readOrThrow(PURGE_LOG, await this.#get(node, PURGE_LOG_PATH)),
      );
      if (count > 0) log.info({ url: from, purges: count }, 'purges learnt from another node');
    });
  };

  /** Reads from another node, unless the same read is under way; never rejects. */
  async #once(from: string, read: (from: string) => Promise<void>): Promise<void> {
    if (this.#reading.has(from)) return;
    this.#reading.add(from);
    try {
      await read(from);
    } catch (error) {
      this.#options.log.warn(
        { err: error, url: from },
        'the purges or pins of another node cannot be read',
      );
    } finally {
      this.#reading.delete(from);
    }
  }

  async #send({ name, url }: OtherNode, command: Command): Promise<Outcome> {
    const auth = this.#options.commandAuth;
    if (auth === undefined) throw new MillraceError('inside-request-refused', 'there is no secret');
    const body = JSON.stringify(command);
    const target = `${COMMAND_PATH}?digest=${textDigest(body)}`;
    const { headers, nonce } = auth.sign(name, 'POST', target, {
      'content-type': 'application/json',
    });
    const response = await (await this.#agent.get()).request({
      method: 'POST',
      origin: url,
      path: target,
      headers,
      body,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await readText(response.body);
    if (response.statusCode !== 200) {
      throw new MillraceError('inside-request-refused', `status ${response.statusCode}`);
    }
    auth.verifyAnswer(nonce, response.headers, ['200', textDigest(text)]);
    return readOrThrow(OUTCOME, JSON.parse(text));
  }

  async #get({ name, url }: OtherNode, path: string): Promise<unknown> {
    const { auth } = this.#options;
    const { headers, nonce } = auth.sign(name, 'GET', path, {});
    const response = await (await this.#agent.get()).request({
      method: 'GET',
      origin: url,
      path,
      headers,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    const text = await readText(response.body, MAX_LIST_BYTES);
    if (response.statusCode !== 200) throw new Error(`status ${response.statusCode}`);
    auth.verifyAnswer(nonce, response.headers, ['200', textDigest(text)]);
    return JSON.parse(text);
  }
}

function asReason(error: unknown): MillraceError {
  if (error instanceof MillraceError) return error;
  const { detail } = asMillraceError(error);
  const { name } = error as Error;
  if (name === 'ZodError' || error instanceof SyntaxError) {
    return new MillraceError('malformed-response', 'of a node');
  }
  const isTimeout = name === 'TimeoutError' || name === 'AbortError';
  return new MillraceError(isTimeout ? 'origin-timeout' : 'origin-unreachable', detail);
}
