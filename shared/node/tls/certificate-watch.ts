/**
 * The certificate in use, replaced when its files are: by a renewal that rewrites them, or by one
 * that points a symbolic link elsewhere (certbot, cert-manager). A pair that cannot be used changes
 * nothing.
 */

import type { Millis } from '@millrace/shared/base/clock';
import type { Log } from '@millrace/shared/base/log';
import { fileIdentity } from '../files/file-identity.ts';
import { type Certificate, type CertificateFiles, readCertificate } from './certificate.ts';

export interface CertificateWatchOptions {
  readonly files: CertificateFiles;
  readonly log: Log;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
}

/** Interval of polling: links and network file systems lose events of the file system. */
const LOOK_INTERVAL_MS = 5000;

export class CertificateWatch {
  readonly #options: CertificateWatchOptions;
  #current: Certificate;
  #seen: string;
  #timer: NodeJS.Timeout | undefined;
  readonly #listeners: ((certificate: Certificate) => void)[] = [];

  /** @throws Error that says which file cannot be used and why */
  constructor(options: CertificateWatchOptions) {
    this.#options = options;
    this.#seen = identity(options.files);
    this.#current = readCertificate(options.files, options.wallClock());
    this.#tell('certificate');
  }

  get current(): Certificate {
    return this.#current;
  }

  /** Begins to watch the files. @param onChange gets the new pair */
  start(onChange: (certificate: Certificate) => void): void {
    this.#listeners.push(onChange);
    this.#timer ??= setInterval(() => {
      if (identity(this.#options.files) !== this.#seen) this.reload();
    }, LOOK_INTERVAL_MS).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Reads the files again, even if they look the same. */
  reload(): void {
    const { files, log, wallClock } = this.#options;
    // Taken first: a change while the files are read is seen the next time.
    this.#seen = identity(files);
    try {
      const read = readCertificate(files, wallClock());
      const isSame = read.cert.equals(this.#current.cert) && read.key.equals(this.#current.key);
      if (isSame) return;
      for (const onChange of this.#listeners) onChange(read);
      this.#current = read;
      this.#tell('new certificate');
    } catch (error) {
      const reason = (error as Error).message;
      log.error({ reason }, 'the new certificate cannot be used: the one before stays');
    }
  }

  #tell(what: string): void {
    const { names, expiresAt, warnings } = this.#current;
    const { log } = this.#options;
    log.info({ names, expires: new Date(expiresAt).toISOString() }, what);
    for (const warning of warnings) log.warn({ names }, `the certificate: ${warning}`);
  }
}

const identity = ({ cert, key }: CertificateFiles) =>
  [cert, key].map((path) => fileIdentity(path)).join(' ');
