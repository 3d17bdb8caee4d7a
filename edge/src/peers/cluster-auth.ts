/**
 * Who may speak the inside protocol: holders of the cluster's secret. Every request carries an HMAC
 * over everything that matters in it, with its time; old and repeated ones are refused. Without a
 * secret only this machine's own processes are let in.
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
} from '@millrace/shared/cdn/inside-message';
import { type Headers, listField } from '@millrace/shared/http/headers';
import ipaddr from 'ipaddr.js';

/** Fields that are part of what is signed, in this order. */
const SIGNED_FIELDS = [
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

  /** @param secret the cluster's secret; undefined: peers on loopback only */
  constructor(secret: Buffer | undefined, wallClock: () => number) {
    this.#secret = secret;
    this.#wallClock = wallClock;
  }

  get hasSecret(): boolean {
    return this.#secret !== undefined;
  }

  /**
   * Completes a request's header with its authentication.
   *
   * @param target the request target as it will be sent
   * @returns the header, and the nonce by which the answer will be recognised
   */
  sign(
    method: string,
    target: string,
    headers: Readonly<Record<string, string>>,
  ): { headers: Record<string, string>; nonce: string } {
    const at = this.#wallClock();
    const nonce = randomBytes(16).toString('hex');
    if (this.#secret === undefined) return { headers: { ...headers }, nonce };
    const fields = SIGNED_FIELDS.map((name) => headers[name] ?? '');
    const mac = this.#mac(signedText(method, target, fields, at, nonce)).toString('hex');
    return {
      headers: { ...headers, [INSIDE.auth]: formatAuthentication({ at, nonce, mac }) },
      nonce,
    };
  }

  /**
   * The authentication of an answer to a verified request.
   *
   * @param parts what the answer says that matters
   */
  signAnswer(req: IncomingMessage, parts: readonly string[]): Record<string, string> {
    const nonce = parseAuthentication(listField(req.headers, INSIDE.auth))?.nonce;
    if (this.#secret === undefined || nonce === undefined) return {};
    return { [INSIDE.auth]: this.#answerMac(nonce, parts).toString('hex') };
  }

  /**
   * Checks an answer: from a holder of the secret, to this very request.
   *
   * @throws MillraceError `inside-request-refused`
   */
  verifyAnswer(nonce: string, headers: Headers, parts: readonly string[]): void {
    if (this.#secret === undefined) return;
    const given = Buffer.from(listField(headers, INSIDE.auth) ?? '', 'hex');
    const expected = this.#answerMac(nonce, parts);
    if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
      throw new MillraceError('inside-request-refused', 'the answer is not signed rightly');
    }
  }

  /**
   * Lets a request in or not.
   *
   * @param target the raw request target
   * @throws MillraceError `inside-request-refused`
   */
  verify(req: IncomingMessage, target: string): void {
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
    if (!this.#replays.accept(given.at, given.nonce, this.#wallClock())) {
      throw new MillraceError('inside-request-refused', 'it is too old, or has been seen before');
    }
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

/** True for an IP address of this machine itself. */
export function isLoopback(address: string | undefined): boolean {
  return (
    address !== undefined &&
    ipaddr.isValid(address) &&
    ipaddr.process(address).range() === 'loopback'
  );
}
