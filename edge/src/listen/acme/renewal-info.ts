/** Asks an authority when it wants a certificate renewed (ACME Renewal Information, RFC 9773). */

import type { X509Certificate } from 'node:crypto';
import type { Millis } from '@millrace/shared/base/clock';
import { type RenewalWindow, readWindow } from '@millrace/shared/cdn/upkeep/certificate-plan';
import { parseRetryAfter } from '@millrace/shared/http/fields/retry-after';
import { loadClient } from './order.ts';

export interface Advice {
  /** Undefined: the authority gives none, or none that can be used. */
  readonly window: RenewalWindow | undefined;
  /** Milliseconds after which the authority wants to be asked again; undefined: it does not say. */
  readonly againMs: Millis | undefined;
}

/** Most bytes of an answer. */
const MAX_BYTES = 64 * 1024;
/** Longest time of a request, its repetitions excluded. */
const REQUEST_MS: Millis = 30_000;

/**
 * Asks for the window in which a certificate is to be renewed.
 *
 * @param directory URL of the authority's directory
 * @param id as `certificateId` returns it
 * @returns undefined if the authority has no such service
 * @throws Error of the network; the signal's reason
 */
export async function askRenewal(
  directory: string,
  id: string,
  signal: AbortSignal,
): Promise<Advice | undefined> {
  const { axios } = await loadClient();
  const get = (url: string) =>
    axios.get(url, { signal, timeout: REQUEST_MS, maxContentLength: MAX_BYTES });
  const listed = await get(directory);
  if (listed.status !== 200) throw new Error(`the authority answered ${listed.status}`);
  const { renewalInfo } = listed.data ?? {};
  if (typeof renewalInfo !== 'string' || !/^https?:/.test(renewalInfo)) return undefined;
  const { status, data, headers } = await get(`${renewalInfo}/${id}`);
  if (status !== 200) throw new Error(`the authority answered ${status}`);
  const again = parseRetryAfter(String(headers['retry-after'] ?? ''), Date.now());
  return { window: readWindow(data?.suggestedWindow), againMs: again };
}

/** Tags of DER (X.690). */
const [INTEGER, OCTETS, OBJECT, VERSION, EXTENSIONS, KEY_ID] = [2, 4, 6, 0xa0, 0xa3, 0x80];
/** Object identifier 2.5.29.35, authorityKeyIdentifier. */
const AUTHORITY_KEY = '551d23';

/**
 * Names a certificate for its authority (RFC 9773 4.1): key identifier of the authority and serial
 * number, both in base64url.
 *
 * @returns undefined for a certificate without such an identifier
 */
export function certificateId({ raw }: Pick<X509Certificate, 'raw'>): string | undefined {
  try {
    const [tbs] = membersOf(membersOf(raw)[0]?.value);
    const fields = membersOf(tbs?.value).filter(({ tag }) => tag !== VERSION);
    const serial = fields[0];
    const list = membersOf(fields.find(({ tag }) => tag === EXTENSIONS)?.value)[0];
    for (const extension of membersOf(list?.value)) {
      const parts = membersOf(extension.value);
      const name = parts.find(({ tag }) => tag === OBJECT)?.value.toString('hex');
      if (name !== AUTHORITY_KEY) continue;
      const [body] = membersOf(parts.find(({ tag }) => tag === OCTETS)?.value);
      const key = membersOf(body?.value).find(({ tag }) => tag === KEY_ID)?.value;
      if (key === undefined || serial?.tag !== INTEGER) return undefined;
      return `${key.toString('base64url')}.${serial.value.toString('base64url')}`;
    }
  } catch {
    // A certificate that is not DER as it should be has no name.
  }
  return undefined;
}

interface Member {
  readonly tag: number;
  readonly value: Buffer;
}

/** Reads the members of a DER value, one after the other. @throws RangeError if it is cut off */
function membersOf(bytes: Buffer = Buffer.alloc(0)): Member[] {
  const members: Member[] = [];
  for (let at = 0; at < bytes.length; ) {
    const tag = bytes.readUInt8(at);
    const first = bytes.readUInt8(at + 1);
    const more = first < 0x80 ? 0 : first & 0x7f;
    const length = more === 0 ? first : bytes.readUIntBE(at + 2, more);
    const start = at + 2 + more;
    if (start + length > bytes.length) throw new RangeError('cut off');
    members.push({ tag, value: bytes.subarray(start, start + length) });
    at = start + length;
  }
  return members;
}
