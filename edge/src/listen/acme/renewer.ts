/**
 * Keeps an edge's certificate fresh: orders it, writes it where `CertificateWatch` looks, and does so
 * again in good time. One process of an edge does this for all.
 */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Millis } from '@millrace/shared/base/clock';
import type { Log } from '@millrace/shared/base/log';
import {
  askAfter,
  challengesFor,
  countEarly,
  NO_FAILURES,
  nextOrder,
  type RenewalWindow,
  type Validity,
} from '@millrace/shared/cdn/upkeep/certificate-plan';
import { replaceFile } from '@millrace/shared/node/files/replace-file';
import type { CertificateFiles } from '@millrace/shared/node/tls/certificate';
import type { Config } from '../../config/config.ts';
import { AcmeFolder } from './acme-folder.ts';
import { type Ordered, orderCertificate, standIn } from './order.ts';
import { askRenewal, certificateId } from './renewal-info.ts';

export interface RenewerOptions {
  readonly name: string;
  readonly directory: string;
  readonly contact: string | undefined;
  readonly files: CertificateFiles;
  /** True if the edge has a port without TLS, for HTTP-01. */
  readonly hasPlainPort: boolean;
  readonly log: Log;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
}

/** Interval of looking whether an order is due: clocks are set, machines sleep. */
const LOOK_MS: Millis = 60_000;
/** Longest time of a question for the time of the renewal. */
const MAX_ASK_MS: Millis = 60_000;
/** Longest time of an order. */
const MAX_ORDER_MS: Millis = 10 * 60_000;

interface Advised {
  /** Certificate that it is about, as `certificateId` names it. */
  readonly id: string;
  readonly window: RenewalWindow | undefined;
  /** True if the authority gives such advice, and wants to know which certificate an order replaces. */
  readonly isGiven: boolean;
  /** Unix milliseconds. */
  readonly askAt: Millis;
}

export class CertificateRenewer {
  readonly #options: RenewerOptions;
  readonly #folder: AcmeFolder;
  /** Drawn once, so that the time of a renewal stands. */
  readonly #draw = Math.random();
  #timer: NodeJS.Timeout | undefined;
  #ordering = false;
  #asking = false;
  /** Latest advice of the authority about the certificate in use. */
  #advice: Advised | undefined;
  /** Ends the order under way. */
  #end = new AbortController();

  constructor(options: RenewerOptions) {
    this.#options = options;
    this.#folder = new AcmeFolder(options.files.cert);
  }

  /** Makes sure that there is a certificate to listen with. @throws Error of the file system */
  async prepare(): Promise<void> {
    const { files, name } = this.#options;
    await this.#folder.create();
    // A process that was killed leaves its challenge behind.
    await this.#folder.removeChallenge();
    if (exists(files.cert) && exists(files.key) && !isTornApart(files)) return;
    await this.#write(await standIn(name));
  }

  /** Begins to order; the edge listens by now. */
  start(): void {
    const look = () => void this.#look();
    look();
    this.#timer = setInterval(look, LOOK_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#end.abort(new Error('the edge stops'));
  }

  async #look(): Promise<void> {
    const { wallClock, log, name, files, hasPlainPort } = this.#options;
    if (this.#ordering || this.#asking) return;
    await this.#askAuthority();
    const { failed, early } = this.#folder.state();
    const replaced = validity(files, name);
    const advised = { window: this.#advice?.window, early };
    if (wallClock() < nextOrder(replaced, failed, () => this.#draw, advised)) return;
    this.#ordering = true;
    this.#end = new AbortController();
    const { signal } = this.#end;
    // After a failure, which may be about the earlier certificate, an order does without it.
    const replaces =
      failed.count === 0 && this.#advice?.isGiven === true ? this.#advice.id : undefined;
    const challenges = challengesFor(hasPlainPort, failed.count);
    const own = { folder: this.#folder, challenges, replaces, signal };
    const order = orderCertificate({ ...this.#options, ...own });
    try {
      log.info({ name }, 'a certificate is ordered');
      await this.#write(await within(MAX_ORDER_MS, order, this.#end));
      const nextAt = nextOrder(validity(files, name), NO_FAILURES, () => this.#draw);
      const now = { failed: NO_FAILURES, early: countEarly(early, replaced, wallClock()) };
      await this.#folder.putState({ ...now, nextAt });
      log.info({ name }, 'a certificate has come');
    } catch (error) {
      const reason = (error as Error).message.slice(0, 500);
      const state = { count: failed.count + 1, at: wallClock() };
      const nextAt = nextOrder(validity(files, name), state, () => this.#draw);
      const when = new Date(nextAt).toISOString();
      await this.#folder
        .putState({ failed: state, early, reason, nextAt })
        .catch((thrown: unknown) => {
          // Without its state, a restart would order at once, and again.
          log.error({ reason: String(thrown) }, 'the state of the orders cannot be written');
        });
      log.error({ name, reason, failures: state.count, next: when }, 'no certificate has come');
    } finally {
      // The next order waits for the end of a late one: the client has room for one.
      void order
        .catch(() => {})
        .finally(() => {
          this.#ordering = false;
        });
    }
  }

  /** Asks the authority when it wants the certificate in use renewed, if it is time to ask. */
  async #askAuthority(): Promise<void> {
    const { wallClock, log, name, files, directory } = this.#options;
    const valid = validity(files, name);
    const id = valid === undefined ? undefined : certificateId(leafOf(files));
    if (valid === undefined || id === undefined) {
      this.#advice = undefined;
      return;
    }
    const before = this.#advice?.id === id ? this.#advice : undefined;
    if (before !== undefined && wallClock() < before.askAt) return;
    this.#asking = true;
    this.#end = new AbortController();
    const askAt = (stated?: Millis) => wallClock() + askAfter(stated);
    try {
      const asked = askRenewal(directory, id, this.#end.signal);
      const advice = await within(MAX_ASK_MS, asked, this.#end);
      const isGiven = advice !== undefined;
      this.#advice = { id, window: advice?.window, isGiven, askAt: askAt(advice?.againMs) };
      if (!isGiven) return;
      const state = this.#folder.state();
      const advised = { window: advice.window, early: state.early };
      const next = nextOrder(valid, state.failed, () => this.#draw, advised);
      await this.#folder.putState({ ...state, nextAt: next });
      log.info({ name, next: new Date(next).toISOString() }, 'the authority says when to renew');
    } catch (error) {
      const reason = (error as Error).message.slice(0, 500);
      log.warn({ name, reason }, 'the authority does not say when to renew');
      const { window, isGiven = false } = before ?? {};
      this.#advice = { id, window, isGiven, askAt: askAt() };
    } finally {
      this.#asking = false;
    }
  }

  /** Writes a pair, the key first: the edge uses the two only once they match. */
  async #write({ key, cert }: Ordered): Promise<void> {
    const { files } = this.#options;
    await replaceFile(files.key, key);
    await replaceFile(files.cert, cert);
  }
}

function leafOf({ cert }: Pick<CertificateFiles, 'cert'>): X509Certificate {
  return new X509Certificate(readFileSync(cert));
}

/** Returns the time of a certificate for the name; undefined for a stand-in, or another name's. */
function validity(files: CertificateFiles, name: string): Validity | undefined {
  try {
    const leaf = leafOf(files);
    if (leaf.checkHost(name) === undefined || leaf.verify(leaf.publicKey)) return undefined;
    return { from: Date.parse(leaf.validFrom), to: Date.parse(leaf.validTo) };
  } catch {
    return undefined;
  }
}

function exists(path: string): boolean {
  try {
    readFileSync(path);
    return true;
  } catch (error) {
    // A file that this user may not read must not be replaced.
    return (error as NodeJS.ErrnoException).code !== 'ENOENT';
  }
}

/** Returns true if an earlier process was killed between writing the key and writing the certificate. */
function isTornApart({ cert, key }: CertificateFiles): boolean {
  try {
    const leaf = new X509Certificate(readFileSync(cert));
    return !leaf.checkPrivateKey(createPrivateKey(readFileSync(key)));
  } catch {
    return false; // whoever reads the files next says what is wrong with them
  }
}

/** Waits for work, and ends it if it takes too long. @throws its error; the reason of the end */
async function within<T>(ms: Millis, work: Promise<T>, end: AbortController): Promise<T> {
  const { signal } = end;
  const ended = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  const late = () => end.abort(new Error('the authority takes too long'));
  const timer = setTimeout(late, ms).unref();
  try {
    return await Promise.race([work, ended]);
  } finally {
    clearTimeout(timer);
  }
}

/** Makes the renewer of the edge's certificate; undefined if the edge orders none. */
export function openRenewer(config: Config, log: Log): CertificateRenewer | undefined {
  const { acmeName: name, acmeDirectory: directory, acmeContact: contact } = config;
  const { tlsCert: cert, tlsKey: key, httpPort } = config;
  if (name === undefined || cert === undefined || key === undefined) return undefined;
  const wallClock = () => Date.now();
  const own = { name, directory, contact, files: { cert, key }, log, wallClock };
  return new CertificateRenewer({ ...own, hasPlainPort: httpPort !== undefined });
}
