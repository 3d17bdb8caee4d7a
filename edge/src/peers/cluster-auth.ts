/**
 * Lets holders of the cluster's secret speak the inside protocol. Every request carries an HMAC
 * over everything that matters in it, with its time and the name of its recipient. Old and repeated
 * requests are refused, and so are those for another node: a message to one node is void at the
 * others. Without a secret only this machine's own processes are let in.
 */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { MillraceError } from '@millrace/shared/base/errors';
import {
  formatAuthentication,
  INSIDE,
  parseAuthentication,
  ReplayGuard,
  signedText,
} from '@millrace/shared/cdn/routing/inside-message';
import { type Headers, listField } from '@millrace/shared/http/fields/headers';
import ipaddr from 'ipaddr.js';

/** Fields that are signed, in this order. */
const SIGNED_FIELDS = [
  INSIDE.to,
  INSIDE.hops,
  INSIDE.via,
  INSIDE.avoid,
  INSIDE.fileLength,
  INSIDE.finalUrl,
  INSIDE.nodePort,
  INSIDE.nodeUrl,
  INSIDE.want,
  INSIDE.purges,
  'cache-control',
] as const;

export class ClusterAuth {
  readonly #secret: Buffer | undefined;
  readonly #replays = new ReplayGuard();
  readonly #wallClock: () => number;
  readonly #name: string;
  /** Called with every request whose signature was verified. */
  onVerified: ((req: IncomingMessage) => void) | undefined;

  /**
   * @param secret the cluster's secret; undefined: peers on loopback only
   * @param name of this node
   */
  constructor(secret: Buffer | undefined, wallClock: () => number, name: string) {
    this.#secret = secret;
    this.#wallClock = wallClock;
    this.#name = name;
  }

  get hasSecret(): boolean {
    return this.#secret !== undefined;
  }

  /**
   * Completes a request's header with its authentication.
   *
   * @param to name of the asked node; undefined for an introduction, which is to find it out
   * @param target the request target as it will be sent
   * @returns the header, and the nonce by which the answer will be recognised: '' without a secret
   */
  sign(
    to: string | undefined,
    method: string,
    target: string,
    headers: Readonly<Record<string, string>>,
  ): { headers: Record<string, string>; nonce: string } {
    if (this.#secret === undefined) return { headers: { ...headers }, nonce: '' };
    const at = this.#wallClock();
    const nonce = randomBytes(16).toString('hex');
    const addressed = to === undefined ? headers : { ...headers, [INSIDE.to]: to };
    const fields = SIGNED_FIELDS.map((name) => addressed[name] ?? '');
    const mac = this.#mac(signedText(method, target, fields, at, nonce)).toString('hex');
    return {
      headers: { ...addressed, [INSIDE.auth]: formatAuthentication({ at, nonce, mac }) },
      nonce,
    };
  }

  /**
   * Signs an answer to a verified request.
   *
   * @param parts of the answer that matter
   */
  signAnswer(req: IncomingMessage, parts: readonly string[]): Record<string, string> {
    const nonce = parseAuthentication(listField(req.headers, INSIDE.auth))?.nonce;
    if (this.#secret === undefined || nonce === undefined) return {};
    return { [INSIDE.auth]: this.#answerMac(nonce, parts).toString('hex') };
  }

  /**
   * Checks that an answer is from a holder of the secret, and to this very request.
   *
   * @throws MillraceError `inside-request-refused`
   */
  verifyAnswer(nonce: string, headers: Headers, parts: readonly string[]): void {
    if (this.#secret === undefined) return;
    const given = Buffer.from(listField(headers, INSIDE.auth) ?? '', 'hex');
    const expected = this.#answerMac(nonce, parts);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
      throw new MillraceError('inside-request-refused', 'the signature of the answer is wrong');
    }
  }

  /**
   * Checks that a request is from a holder of the secret, and for this node.
   *
   * @param target the raw request target
   * @throws MillraceError `inside-request-refused`
   */
  verify(req: IncomingMessage, target: string): void {
    this.#verify(req, target, this.#name);
  }

  /** The same for an introduction, which names no recipient. */
  verifyIntroduction(req: IncomingMessage, target: string): void {
    this.#verify(req, target, undefined);
  }

  #verify(req: IncomingMessage, target: string, to: string | undefined): void {
    if (this.#secret === undefined) {
      if (isLoopback(req.socket.remoteAddress)) return;
      throw new MillraceError('inside-request-refused', 'no secret is set, so loopback only');
    }
    const given = parseAuthentication(listField(req.headers, INSIDE.auth));
    if (given === undefined) throw new MillraceError('inside-request-refused', 'not signed');
    const fields = SIGNED_FIELDS.map((name) => listField(req.headers, name) ?? '');
    const expected = this.#mac(signedText(req.method ?? '', target, fields, given.at, given.nonce));
    if (!timingSafeEqual(expected, Buffer.from(given.mac, 'hex'))) {
      throw new MillraceError('inside-request-refused', 'the signature is wrong');
    }
    // This is checked after the signature, so that only members of the network learn whether a name
    // is this node's.
    if (listField(req.headers, INSIDE.to) !== to) {
      throw new MillraceError('inside-request-refused', 'it is for another node');
    }
    if (!this.#replays.accept(given.at, given.nonce, this.#wallClock())) {
      throw new MillraceError('inside-request-refused', 'it is too old, or has been seen before');
    }
    this.onVerified?.(req);
  }

  #answerMac(nonce: string, parts: readonly string[]): Buffer {
    return this.#mac(signedText('answer', nonce, parts, 0, ''));
  }

  #mac(text: string): Buffer {
    return createHmac('sha256', this.#secret as Buffer)
      .update(text)
      .digest();
  }
}

/** Returns true for an IP address of this machine itself. */
export function isLoopback(address: string | undefined): boolean {
  return (
    address !== undefined &&
    ipaddr.isValid(address) &&
    ipaddr.process(address).range() === 'loopback'
  );
}
