/**
 * Keeps an edge's certificate fresh: orders it, writes it where `CertificateWatch` looks, and does so
 * again in good time. One process of an edge does this for all.
 */

import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Millis } from '@millrace/shared/base/clock';
import type { Log } from '@millrace/shared/base/log';
import {
  NO_FAILURES,
  nextOrder,
  type Validity,
} from '@millrace/shared/cdn/upkeep/certificate-plan';
import { replaceFile } from '@millrace/shared/node/files/replace-file';
import type { CertificateFiles } from '@millrace/shared/node/tls/certificate';
import type { Config } from '../../config/config.ts';
import { AcmeFolder } from './acme-folder.ts';
import { type Ordered, orderCertificate, standIn } from './order.ts';

export interface RenewerOptions {
  readonly name: string;
  readonly directory: string;
  readonly contact: string | undefined;
  readonly files: CertificateFiles;
  readonly log: Log;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
}

/** Interval of looking whether an order is due: clocks are set, machines sleep. */
const LOOK_MS: Millis = 60_000;
/** Longest time of an order. */
const MAX_ORDER_MS: Millis = 10 * 60_000;

export class CertificateRenewer {
  readonly #options: RenewerOptions;
  readonly #folder: AcmeFolder;
  /** Drawn once, so that the time of a renewal stands. */
  readonly #draw = Math.random();
  #timer: NodeJS.Timeout | undefined;
  #ordering = false;
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
    const { wallClock, log, name, files } = this.#options;
    if (this.#ordering) return;
    const { failed } = this.#folder.state();
    if (wallClock() < nextOrder(validity(files, name), failed, () => this.#draw)) return;
    this.#ordering = true;
    this.#end = new AbortController();
    const { signal } = this.#end;
    const order = orderCertificate({ ...this.#options, folder: this.#folder, signal });
    try {
      log.info({ name }, 'a certificate is ordered');
      await this.#write(await within(MAX_ORDER_MS, order, this.#end));
      const nextAt = nextOrder(validity(files, name), NO_FAILURES, () => this.#draw);
      await this.#folder.putState({ failed: NO_FAILURES, nextAt });
      log.info({ name }, 'a certificate has come');
    } catch (error) {
      const reason = (error as Error).message.slice(0, 500);
      const state = { count: failed.count + 1, at: wallClock() };
      const nextAt = nextOrder(validity(files, name), state, () => this.#draw);
      const when = new Date(nextAt).toISOString();
      await this.#folder.putState({ failed: state, reason, nextAt }).catch((thrown: unknown) => {
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

  /** Writes a pair, the key first: the edge uses the two only once they match. */
  async #write({ key, cert }: Ordered): Promise<void> {
    const { files } = this.#options;
    await replaceFile(files.key, key);
    await replaceFile(files.cert, cert);
  }
}

/** Returns the time of a certificate for the name; undefined for a stand-in, or another name's. */
function validity(files: CertificateFiles, name: string): Validity | undefined {
  try {
    const leaf = new X509Certificate(readFileSync(files.cert));
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
  const { tlsCert: cert, tlsKey: key } = config;
  if (name === undefined || cert === undefined || key === undefined) return undefined;
  const wallClock = () => Date.now();
  return new CertificateRenewer({ name, directory, contact, files: { cert, key }, log, wallClock });
}
