/**
 * Secrets and signatures of messages to a webhook, by Standard Webhooks (https://www.standardwebhooks.com): an id that stays the
 * same when a message is sent again, the time, and a signature over both and the body.
 */

const PREFIX = 'whsec_';
const MIN_KEY_BYTES = 24;
const MAX_KEY_BYTES = 64;

/** Returns the key of a secret (`whsec_` and base64); undefined if it is not one. */
export function signingKey(secret: string): Uint8Array<ArrayBuffer> | undefined {
  const text = secret.startsWith(PREFIX) ? secret.slice(PREFIX.length) : '';
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(text)) return undefined;
  try {
    const key = Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
    return key.length < MIN_KEY_BYTES || key.length > MAX_KEY_BYTES ? undefined : key;
  } catch {
    return undefined;
  }
}

/** Returns the text that is signed. @param seconds Unix time of this attempt */
export function signedText(id: string, seconds: number, body: string): string {
  return `${id}.${seconds}.${body}`;
}
