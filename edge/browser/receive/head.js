/**
 * Opens encrypted files with the key of their link, by the browser's own cryptography. The format is
 * that of shared/src/exnode/seal.ts.
 */

import { rootBytes } from './exnode.js';
import { Failure } from './failure.js';

const HEAD_CONTEXT = 'millrace exnode 1 head';
const BODY_CONTEXT = 'millrace exnode 1 body';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Bytes for which one counter stands, and bits of the counter: those of all larger files are 0. */
const COUNTER_BYTES = 16;
const COUNTER_BITS = 64;
/** Longest name that is proposed to the browser. */
const MAX_NAME = 120;

/**
 * Facts of a file that only holders of the key know.
 *
 * @typedef {{ name: string, type: string | undefined, bodyKey: CryptoKey }} OpenedHead
 */

/**
 * Reads the key at the end of a link.
 *
 * @param {string} fragment with its `#`
 * @returns {Uint8Array<ArrayBuffer>} 32 bytes
 * @throws {Failure} `no-key`
 */
export function readKey(fragment) {
  // The last character has two bits that belong to no byte.
  const text = /^#k\.([A-Za-z0-9_-]{42}[AEIMQUYcgkosw048])$/.exec(fragment)?.[1];
  if (text === undefined) throw new Failure('no-key');
  const plain = atob(`${text.replaceAll('-', '+').replaceAll('_', '/')}=`);
  return Uint8Array.from(plain, (char) => char.charCodeAt(0));
}

/**
 * Opens a description: proves that it is the one that the key was made for.
 *
 * @param {import('./exnode.js').Description} description
 * @param {Uint8Array<ArrayBuffer>} key
 * @returns {Promise<OpenedHead>}
 * @throws {Failure} `wrong-key`; `bad-exnode` if digests, root and head do not belong together
 */
export async function openHead(description, key) {
  const { sealed, root } = description;
  if (sealed === undefined) throw new Failure('bad-exnode', 'it is not encrypted');
  const { subtle } = crypto;
  const master = await subtle.importKey('raw', key, 'HKDF', false, ['deriveKey']);
  const derive = (/** @type {string} */ context, /** @type {string} */ cipher) =>
    subtle.deriveKey(
      {
        ...{ name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array() },
        info: new TextEncoder().encode(context),
      },
      master,
      { name: cipher, length: 256 },
      false,
      ['decrypt'],
    );
  const headKey = await derive(HEAD_CONTEXT, 'AES-GCM');
  const text = await unsealed(headKey, sealed);
  if ((await sha256Hex(rootBytes(description))) !== root) {
    throw new Failure('bad-exnode', 'its root is not that of its digests');
  }
  const head = readHead(text);
  if (head.root !== root) throw new Failure('bad-exnode', 'its sealed part is of other bytes');
  return { ...head, bodyKey: await derive(BODY_CONTEXT, 'AES-CTR') };
}

/**
 * @param {CryptoKey} key
 * @param {Uint8Array<ArrayBuffer>} sealed nonce, ciphertext, tag
 */
async function unsealed(key, sealed) {
  if (sealed.length < NONCE_BYTES + TAG_BYTES) throw new Failure('wrong-key');
  const iv = sealed.subarray(0, NONCE_BYTES);
  const cipher = { name: 'AES-GCM', iv, tagLength: 8 * TAG_BYTES };
  try {
    const bytes = await crypto.subtle.decrypt(cipher, key, sealed.subarray(NONCE_BYTES));
    return new TextDecoder().decode(bytes);
  } catch {
    throw new Failure('wrong-key');
  }
}

/** @param {string} text of an opened head */
function readHead(text) {
  try {
    const { name, type, sha256, root } = JSON.parse(text);
    const isName = typeof name === 'string' && name.length >= 1 && name.length <= 1024;
    const isType = type === undefined || (typeof type === 'string' && type.length <= 255);
    const isHex = (/** @type {unknown} */ one) =>
      typeof one === 'string' && /^[0-9a-f]{64}$/.test(one);
    if (isName && isType && isHex(sha256) && isHex(root)) {
      return { name: safeName(name), type: /** @type {string | undefined} */ (type), root };
    }
  } catch {
    // Reported below.
  }
  throw new Failure('bad-exnode', 'its sealed part cannot be understood');
}

/**
 * Makes a name that can be shown and saved from one that a stranger has given.
 *
 * @param {string} name
 */
export function safeName(name) {
  const last = name.split(/[/\\]/).findLast((part) => part !== '') ?? '';
  const visible = last
    .replace(/[\p{Default_Ignorable_Code_Point}\p{Bidi_Control}\p{Cs}\u2028\u2029]/gu, '')
    .replace(/[:*?"<>|\x00-\x1f\x7f-\x9f]/g, '_')
    .replace(/^[.\s]+|[.\s]+$/g, '')
    .replace(/\s{4,}/g, ' ');
  const chars = [...visible];
  if (chars.length <= MAX_NAME) return visible === '' ? 'download' : visible;
  const ending = /\.[A-Za-z0-9]{1,10}(?:\.[A-Za-z0-9]{1,10})?$/.exec(visible)?.[0] ?? '';
  return chars.slice(0, MAX_NAME - ending.length).join('') + ending;
}

/**
 * Decrypts bytes of the body. WebCrypto takes the counter of the first byte, so that each call stands
 * alone.
 *
 * @param {CryptoKey} key of the body
 * @param {number} position of the first byte in the file: a multiple of 16
 * @param {Uint8Array<ArrayBuffer>} bytes
 */
export async function decrypt(key, position, bytes) {
  const counter = new Uint8Array(COUNTER_BYTES);
  new DataView(counter.buffer).setBigUint64(8, BigInt(position / COUNTER_BYTES));
  const cipher = { name: 'AES-CTR', counter, length: COUNTER_BITS };
  return new Uint8Array(await crypto.subtle.decrypt(cipher, key, bytes));
}

/** @param {Uint8Array<ArrayBuffer>} bytes */
export async function sha256Hex(bytes) {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
