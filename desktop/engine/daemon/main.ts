/** The daemon as a program of its own. */

import { parseArgs } from 'node:util';
import { asMillraceError } from '@millrace/shared/base/errors';
import { stateFolder } from '../local-edge.ts';
import { startDaemon } from './daemon.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    dir: { type: 'string', default: '.' },
    state: { type: 'string', default: stateFolder() },
    page: { type: 'string' },
    'allow-origin': { type: 'string', multiple: true, default: [] },
  },
});

try {
  const daemon = await startDaemon({
    state: values.state,
    dir: values.dir,
    ...(values.port === undefined ? {} : { port: Number(values.port) }),
    ...(values.page === undefined ? {} : { page: values.page }),
    allowedOrigins: values['allow-origin'],
    onNote: (text) => process.stderr.write(`${text}\n`),
  });
  process.stdout.write(`Millrace daemon on ${daemon.url}\n`);
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => void daemon.close());
  }
  await daemon.ended;
} catch (thrown) {
  const error = asMillraceError(thrown);
  process.stderr.write(`${error.message}.\n${error.row.advice}\n`);
  process.exitCode = error.row.exit;
}
