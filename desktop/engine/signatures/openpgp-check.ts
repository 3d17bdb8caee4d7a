/**
 * Checks OpenPGP signatures (RFC 9580) with pinned keys. The library parses packets and verifies;
 * contents are hashed here, so that a file of any length is read once and never held.
 */

import {
  type Doubt,
  judge,
  type Outcome,
  shownSigner,
} from '@millrace/shared/download/signatures/verdict';
import {
  type CleartextMessage,
  createMessage,
  enums,
  PacketList,
  type PublicKey,
  readCleartextMessage,
  readKeys,
  readSignature,
  Signature,
  type SignaturePacket,
  verify,
} from 'openpgp';
import type { SignedContent } from './signed-content.ts';

/** A key with the name that it vouches by. */
export interface OpenpgpKey {
  readonly by: string;
  readonly key: PublicKey;
}

/** Most signatures in one file: each may cost the reading of the whole content. */
const MAX_SIGNATURES = 4;
/** Hash algorithms of signatures that are accepted, by their numbers (RFC 9580, 9.5). */
const HASHES: ReadonlyMap<number, string> = new Map([
  [enums.hash.sha256, 'sha256'],
  [enums.hash.sha384, 'sha384'],
  [enums.hash.sha512, 'sha512'],
  [enums.hash.sha224, 'sha224'],
  [enums.hash.sha3_256, 'sha3-256'],
  [enums.hash.sha3_512, 'sha3-512'],
]);

const ARMORED = '-----BEGIN PGP ';

/**
 * Reads public keys, armored or binary.
 *
 * @param by name of their owner; undefined: that of each key's first user ID
 * @throws Error if they cannot be read
 */
export async function readOpenpgpKeys(
  bytes: Uint8Array,
  by: string | undefined,
): Promise<OpenpgpKey[]> {
  const text = Buffer.from(bytes).toString('latin1').trimStart();
  const keys = await (text.startsWith(ARMORED)
    ? readKeys({ armoredKeys: Buffer.from(bytes).toString('utf8') })
    : readKeys({ binaryKeys: bytes }));
  return keys.map((key) => {
    const name = by ?? shownSigner(key.getUserIDs()[0] ?? '');
    return { by: name === '' ? fingerprintOf(key) : name, key: key.toPublic() };
  });
}

export function fingerprintOf(key: PublicKey): string {
  return key.getFingerprint().toUpperCase();
}

/** Checks a signature in a file of its own. @param now Unix milliseconds */
export async function checkDetached(
  bytes: Uint8Array,
  content: SignedContent,
  keys: readonly OpenpgpKey[],
  now: number,
): Promise<Outcome> {
  let signature: Signature;
  try {
    const text = Buffer.from(bytes).toString('latin1');
    signature = await (text.includes(ARMORED)
      ? readSignature({ armoredSignature: text.slice(text.indexOf(ARMORED)) })
      : readSignature({ binarySignature: bytes }));
  } catch {
    return { kind: 'doubtful', doubt: 'signature-unreadable' };
  }
  const outcomes: Outcome[] = [];
  for (const packet of signature.packets.slice(0, MAX_SIGNATURES)) {
    outcomes.push(await checkPacket(packet, content, keys, now));
  }
  return judge(outcomes);
}

/** A text with its signature around it. */
export interface ClearSigned {
  readonly outcome: Outcome;
  /** The signed text, without anything before or after it. */
  readonly text: string;
}

/** Checks a clear-signed text (RFC 9580, 7); undefined for any other text. */
export async function checkClearSigned(
  bytes: Uint8Array,
  keys: readonly OpenpgpKey[],
  now: number,
): Promise<ClearSigned | undefined> {
  const whole = Buffer.from(bytes).toString('utf8');
  if (!/^-----BEGIN PGP SIGNED MESSAGE-----\s*$/m.test(whole)) return undefined;
  let message: CleartextMessage;
  try {
    message = await readCleartextMessage({ cleartextMessage: whole });
  } catch {
    return { outcome: { kind: 'doubtful', doubt: 'signature-unreadable' }, text: '' };
  }
  const date = new Date(now);
  const trusted = keys.map(({ key }) => key);
  const { signatures, data } = await verify({ message, verificationKeys: trusted, date });
  const outcomes: Outcome[] = [];
  for (const { keyID, verified, signature } of signatures.slice(0, MAX_SIGNATURES)) {
    const owner = keys.find(({ key }) => key.getKeys(keyID).length > 0);
    const [packet] = (await signature).packets;
    outcomes.push(await outcomeOf(owner, packet, verified));
  }
  return { outcome: judge(outcomes), text: data };
}

async function checkPacket(
  packet: SignaturePacket,
  content: SignedContent,
  keys: readonly OpenpgpKey[],
  now: number,
): Promise<Outcome> {
  const owner = keys.find(({ key }) => key.getKeys(packet.issuerKeyID).length > 0);
  if (owner === undefined) return doubtful('signature-unknown-key');
  const algorithm = HASHES.get(packet.hashAlgorithm ?? 0);
  if (algorithm === undefined) return doubtful('signature-weak');
  // A signature of a text says nothing about its line ends, and others are not of contents.
  if (packet.signatureType !== enums.signature.binary) return doubtful('signature-unreadable');
  const { signatureData, version } = packet;
  if (signatureData === null || (version !== 4 && version !== 6)) {
    return doubtful('signature-unreadable');
  }
  const inner = packet as SignaturePacket & { hashed?: unknown; salt?: Uint8Array | null };
  const hashed = await content.digest(
    algorithm,
    inner.salt ?? new Uint8Array(),
    Buffer.concat([signatureData, trailer(version, signatureData.length)]),
  );
  // The library takes the digest from here, as it does for contents that it has streamed.
  inner.hashed = Promise.resolve(new Uint8Array(hashed));
  const packets = new PacketList<SignaturePacket>();
  packets.push(packet);
  const { signatures } = await verify({
    message: await createMessage({ binary: new Uint8Array(), format: 'binary' }),
    signature: new Signature(packets),
    verificationKeys: [owner.key],
    date: new Date(now),
    format: 'binary',
  });
  const [only] = signatures;
  if (only === undefined) return doubtful('signature-unreadable');
  return outcomeOf(owner, packet, only.verified);
}

/** Bytes that end what a signature covers (RFC 9580, 5.2.4). @param bytes length of its own data */
function trailer(version: number, bytes: number): Uint8Array {
  const ending = Buffer.from([version, 0xff, 0, 0, 0, 0]);
  ending.writeUInt32BE(bytes, 2);
  return ending;
}

async function outcomeOf(
  owner: OpenpgpKey | undefined,
  packet: SignaturePacket | undefined,
  verified: Promise<true>,
): Promise<Outcome> {
  if (owner === undefined) {
    await verified.catch(() => {});
    return doubtful('signature-unknown-key');
  }
  const { by, key } = owner;
  const fingerprint = fingerprintOf(key);
  try {
    await verified;
    return { kind: 'good', by, fingerprint, signedAt: packet?.created?.getTime() };
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    return BAD.has(message) ? { kind: 'bad', by, fingerprint } : doubtful(doubtIn(message));
  }
}

/** The library's words, in whole, for a signature of other bytes: those of other faults differ. */
const BAD: ReadonlySet<string> = new Set([
  'Signed digest did not match',
  'Signature verification failed',
]);

/** Reads the library's words for why a right signature does not count. */
function doubtIn(message: string): Doubt {
  if (/insecure|too weak|is disabled/i.test(message)) return 'signature-weak';
  if (/revoked|expired|newer than the signature|in the future/i.test(message)) {
    return 'signature-key-not-valid';
  }
  return 'signature-unreadable';
}

function doubtful(doubt: Doubt): Outcome {
  return { kind: 'doubtful', doubt };
}
