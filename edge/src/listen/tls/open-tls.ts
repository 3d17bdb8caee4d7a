/** Reads the settings of TLS. */

import type { Millis } from '@millrace/shared/base/clock';
import type { Log } from '@millrace/shared/base/log';
import { CertificateWatch } from '@millrace/shared/node/tls/certificate-watch';
import type { Config } from '../../config/config.ts';
import type { Metrics } from '../../figures/metrics.ts';

/**
 * Reads the certificate and its key, and watches both files.
 *
 * @param wallClock Unix milliseconds
 * @returns undefined if the edge is to listen without TLS
 * @throws Error that says which file cannot be used and why
 */
export function openCertificates(
  config: Config,
  log: Log,
  wallClock: () => Millis,
): CertificateWatch | undefined {
  const { tlsCert: cert, tlsKey: key } = config;
  if (cert === undefined || key === undefined) return undefined;
  return new CertificateWatch({ files: { cert, key }, log, wallClock });
}

/** Adds the gauge for alerts before a certificate expires without having been renewed. */
export function addCertificateGauge(metrics: Metrics, certificates: CertificateWatch): void {
  metrics.gauge(
    'certificate_expires_seconds',
    'When the certificate expires, in Unix seconds',
    () => certificates.current.expiresAt / 1000,
    'min', // of several processes, all of which should have the same
  );
}
