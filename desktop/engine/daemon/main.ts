/** Runs the daemon as a separate program. */

import { writeSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { onFatalError } from '@millrace/shared/node/fatal-log';
import { boundYoungGeneration } from '@millrace/shared/node/memory/young-generation';
import { exposureOf } from '@millrace/shared/remote/exposure';
import { makeStateFolder } from '../../local/daemon-address.ts';
import { stateFolder } from '../../local/local-edge.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    dir: { type: 'string', default: '.' },
    state: { type: 'string', default: stateFolder() },
    page: { type: 'string' },
    'allow-origin': { type: 'string', multiple: true, default: [] },
    host: { type: 'string' },
    'remote-port': { type: 'string' },
    'public-url': { type: 'string' },
    'allow-host': { type: 'string', multiple: true, default: [] },
    'tls-cert': { type: 'string' },
    'tls-key': { type: 'string' },
    'behind-proxy': { type: 'string', multiple: true, default: [] },
  },
});

const MAX_PORT = 65_535;

/** The variable serves those who start the daemon through another program. */
const port = values.port ?? (process.env.MILLRACE_DAEMON_PORT || undefined);

/** Level 60 is `fatal`, as in the log of an edge. */
onFatalError((error) => {
  const msg = 'an error that nothing handles ends the daemon';
  writeSync(2, `${JSON.stringify({ level: 60, time: Date.now(), ...error, msg })}\n`);
});

try {
  await makeStateFolder(values.state);
  // Half of the start-up time goes into loading the program. The compile cache is in the user's own
  // folder, because its contents are executed.
  enableCompileCache(join(values.state, 'compile-cache'));
  const { startDaemon } = await import('./daemon.ts');
  boundYoungGeneration();
  const remotePort = values['remote-port'];
  const daemon = await startDaemon({
    state: values.state,
    dir: values.dir,
    ...(port === undefined ? {} : { port: readPort(port, '--port or MILLRACE_DAEMON_PORT') }),
    ...(values.page === undefined ? {} : { page: values.page }),
    allowedOrigins: values['allow-origin'],
    exposure: exposureOf({
      host: values.host,
      publicUrl: values['public-url'],
      allowedHosts: values['allow-host'],
      tlsCert: values['tls-cert'],
      tlsKey: values['tls-key'],
      proxies: values['behind-proxy'],
    }),
    ...(remotePort === undefined ? {} : { remotePort: readPort(remotePort, '--remote-port') }),
    onNote: (text) => process.stderr.write(`${text}\n`),
  });
  // First of all: whoever reads the line below may send a signal at once.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => void daemon.close());
  }
  process.stdout.write(`Millrace daemon on ${daemon.url}\n`);
  if (daemon.remotePort !== undefined) {
    process.stdout.write(`Other machines are served on port ${daemon.remotePort}\n`);
  }
  await daemon.ended;
} catch (thrown) {
  const error = asMillraceError(thrown);
  process.stderr.write(`${error.message}.\n${error.row.advice}\n`);
  process.exitCode = error.row.exit;
}

/** @throws MillraceError `bad-option` for text that is no port */
function readPort(text: string, option: string): number {
  const number = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (number <= MAX_PORT) return number;
  throw new MillraceError('bad-option', `${option}: "${text}" is no port`);
}
