/** The certificate and key that the edge shows its clients: read, checked, and described. */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Millis } from '@millrace/shared/base/clock';
import { fileWords } from '@millrace/shared/node/files/file-words';

/** Paths of a certificate (PEM, its chain after it) and its key (PEM, without passphrase). */
export interface CertificateFiles {
  readonly cert: string;
  readonly key: string;
}

export interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Names that it is for, as in its subjectAltName. */
  readonly names: string;
  /** Unix milliseconds. */
  readonly expiresAt: Millis;
  /** Faults that do not prevent its use, for the log. */
  readonly warnings: readonly string[];
}

/** Largest file of a certificate or key. */
const MAX_PEM_BYTES = 1024 * 1024;
const MAX_CHAIN = 20;
const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Makes the options of every TLS connection of the edge. */
export function secureContextOptions({ cert, key }: Certificate): SecureContextOptions {
  return { cert, key, minVersion: 'TLSv1.2' };
}

/**
 * Reads and checks a pair.
 *
 * @param now Unix milliseconds, for expiry
 * @throws Error that says which file cannot be used and why
 */
export function readCertificate(files: CertificateFiles, now: Millis): Certificate {
  const cert = readPem('certificate', files.cert);
  const key = readPem('key', files.key);
  const chain = parseChain(cert, files.cert);
  const [leaf] = chain as [X509Certificate];
  checkKey(leaf, key, files);
  const certificate: Certificate = {
    cert,
    key,
    names: leaf.subjectAltName ?? leaf.subject,
    expiresAt: Date.parse(leaf.validTo),
    warnings: warningsOf(chain, now),
  };
  try {
    createSecureContext(secureContextOptions(certificate));
  } catch (error) {
    throw new Error(`${files.cert} and ${files.key} cannot be used: ${(error as Error).message}`);
  }
  return certificate;
}

function readPem(what: string, path: string): Buffer {
  let content: Buffer;
  try {
    content = readFileSync(path);
  } catch (error) {
    throw new Error(`the ${what} cannot be read: ${fileWords(error)}`);
  }
  if (content.length <= MAX_PEM_BYTES) return content;
  throw new Error(`${path} is too large for a ${what}`);
}

function parseChain(pem: Buffer, path: string): X509Certificate[] {
  const blocks = pem.toString('latin1').match(PEM_CERTIFICATE) ?? [];
  if (blocks.length === 0) throw new Error(`${path} holds no certificate in PEM form`);
  if (blocks.length > MAX_CHAIN) throw new Error(`${path} holds too many certificates`);
  try {
    return blocks.map((block) => new X509Certificate(block));
  } catch (error) {
    throw new Error(`${path} holds a certificate that is damaged: ${(error as Error).message}`);
  }
}

function checkKey(leaf: X509Certificate, pem: Buffer, { cert, key }: CertificateFiles): void {
  let isPair: boolean;
  try {
    isPair = leaf.checkPrivateKey(createPrivateKey(pem));
  } catch (error) {
    const hint = /ENCRYPTED/.test(pem.toString('latin1')) ? ' (it must have no passphrase)' : '';
    throw new Error(`${key} holds no usable private key${hint}: ${(error as Error).message}`);
  }
  if (!isPair) throw new Error(`the key in ${key} is not that of the first certificate in ${cert}`);
}

function warningsOf(chain: readonly X509Certificate[], now: Millis): string[] {
  const warnings: string[] = [];
  const [leaf] = chain as [X509Certificate];
  if (now > Date.parse(leaf.validTo)) warnings.push(`it has expired: ${leaf.validTo}`);
  if (now < Date.parse(leaf.validFrom)) warnings.push(`it is not valid yet: ${leaf.validFrom}`);
  chain.forEach((certificate, index) => {
    const issuer = chain[index + 1];
    if (issuer !== undefined && !certificate.checkIssued(issuer)) {
      warnings.push(`certificate ${index + 2} of the chain is not the issuer of the one before it`);
    }
  });
  return warnings;
}
