/** Orders one certificate by ACME (RFC 8555), with the challenge HTTP-01 or TLS-ALPN-01 (RFC 8737). */

import type { ChallengeType } from '@millrace/shared/cdn/upkeep/certificate-plan';
import type { Authorization, Client } from 'acme-client';
import type { AcmeFolder } from './acme-folder.ts';

export interface OrderOptions {
  readonly name: string;
  readonly directory: string;
  readonly contact: string | undefined;
  readonly folder: AcmeFolder;
  /** Challenges that this edge can meet, the one to prefer first. */
  readonly challenges: readonly ChallengeType[];
  /** Certificate that the new one replaces, as `certificateId` names it (RFC 9773 5). */
  readonly replaces?: string | undefined;
  /** Ends the order: no request of it goes out any more. */
  readonly signal: AbortSignal;
}

/** A key and its certificate with the chain, PEM. */
export interface Ordered {
  readonly key: string;
  readonly cert: string;
}

/**
 * Orders a certificate with a new key. Only one order may be under way at a time. One that is ended
 * may take minutes to settle, in which it sends nothing: its client waits before each attempt.
 *
 * @throws Error that says why there is none; the signal's reason
 */
export async function orderCertificate(o: OrderOptions): Promise<Ordered> {
  const { signal } = o;
  const { axios } = await loadClient();
  const { request } = axios.interceptors;
  const endable = request.use((config) => {
    signal.throwIfAborted();
    return Object.assign(config, { signal });
  });
  try {
    return await order(o);
  } finally {
    request.eject(endable);
  }
}

async function order(o: OrderOptions): Promise<Ordered> {
  const { name, directory: directoryUrl, contact, folder, challenges, replaces, signal } = o;
  const { Client, crypto } = await loadClient();
  const accountKey = await folder.accountKey(() => crypto.createPrivateEcdsaKey());
  const client = new Client({ directoryUrl, accountKey });
  await openAccount(client, contact);
  if (replaces !== undefined) {
    const place = client.createOrder.bind(client);
    client.createOrder = (data) => place(Object.assign(data, { replaces }));
  }
  const [key, csr] = await crypto.createCsr(
    { commonName: name, altNames: [name] },
    await crypto.createPrivateEcdsaKey(),
  );
  const cert = await client.auto({
    csr,
    termsOfServiceAgreed: true,
    challengePriority: [...challenges],
    // This machine may not reach itself by its public name.
    skipChallengeVerification: true,
    challengeCreateFn: async (authz, { type, token }, answer) => {
      signal.throwIfAborted();
      // The client takes another one where none of these is offered.
      if (!challenges.includes(type as ChallengeType)) {
        throw new Error(`the authority does not offer ${challenges.join(' or ')}`);
      }
      if (type === 'http-01') return folder.putAnswer(token, answer);
      const { key, cert } = await alpnPair(authz, answer);
      await folder.putChallenge(`${key}${cert}`);
    },
    challengeRemoveFn: (_authz, { type, token }) =>
      type === 'http-01' ? folder.removeAnswer(token) : folder.removeChallenge(),
  });
  return { key: key.toString(), cert };
}

/** Makes the account of the key, or finds it. @throws Error that says why there is none */
async function openAccount(client: Client, contact: string | undefined): Promise<void> {
  const mail = contact === undefined ? {} : { contact: [`mailto:${contact}`] };
  try {
    await client.createAccount({ termsOfServiceAgreed: true, ...mail });
  } catch (error) {
    // The client changes an account that exists already, which authorities may refuse if there is
    // nothing to change.
    try {
      client.getAccountUrl();
    } catch {
      throw error;
    }
  }
}

/**
 * Makes a certificate that nobody trusts, so that the edge can listen before it has one: the
 * authority asks the edge itself.
 */
export async function standIn(name: string): Promise<Ordered> {
  return alpnPair({ identifier: { type: 'dns', value: name } }, '');
}

/** Makes the certificate by which a challenge at the port for TLS is met (RFC 8737 3). */
async function alpnPair(
  authz: Pick<Authorization, 'identifier'>,
  answer: string,
): Promise<Ordered> {
  const { crypto } = await loadClient();
  const key = await crypto.createPrivateEcdsaKey();
  const [, cert] = await crypto.createAlpnCertificate(authz as Authorization, answer, key);
  return { key: key.toString(), cert: cert.toString() };
}

/** Loads the client only when it is needed: it would take a good part of an edge's start. */
export function loadClient() {
  return import('acme-client');
}
