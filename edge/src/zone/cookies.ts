/**
 * Cookies by which a resolver shows that answers by UDP reach it (RFC 7873). All nodes with one
 * secret take each other's, because a resolver sends a cookie to any server of an anycast address.
 */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Millis } from '@millrace/shared/base/clock';
import type { AskedCookie } from './query.ts';

const TIME_BYTES = 4;
const MAC_BYTES = 12;
/** Age up to which a cookie counts, and the most that it may come from the future (RFC 9018 4.3). */
const MAX_AGE_S = 3600;
const MAX_AHEAD_S = 300;

export class DnsCookies {
  readonly #key: Buffer;

  /** @param secret of the network; undefined: the cookies of this process count for it alone */
  constructor(secret: Buffer | undefined) {
    const from = secret ?? randomBytes(32);
    this.#key = createHmac('sha256', from).update('millrace-dns-cookie-1').digest();
  }

  /** Returns the value of the option for an answer: the client's cookie and this server's. */
  make(client: Uint8Array, address: string, wallClock: Millis): Uint8Array {
    const time = Buffer.alloc(TIME_BYTES);
    time.writeUInt32BE(Math.floor(wallClock / 1000) % 2 ** 32);
    return Buffer.concat([client, time, this.#mac(client, time, address)]);
  }

  /** Returns true if the cookie was made here, for this address, within the last hour. */
  proves(cookie: AskedCookie | undefined, address: string, wallClock: Millis): boolean {
    const { client, server } = cookie ?? {};
    if (client === undefined || server?.length !== TIME_BYTES + MAC_BYTES) return false;
    const time = server.subarray(0, TIME_BYTES);
    const mac = this.#mac(client, time, address);
    if (!timingSafeEqual(mac, server.subarray(TIME_BYTES))) return false;
    const age = Math.floor(wallClock / 1000) - Buffer.from(time).readUInt32BE();
    return age >= -MAX_AHEAD_S && age <= MAX_AGE_S;
  }

  #mac(client: Uint8Array, time: Uint8Array, address: string): Buffer {
    const hmac = createHmac('sha256', this.#key).update(client).update(time).update(address);
    return hmac.digest().subarray(0, MAC_BYTES);
  }
}
