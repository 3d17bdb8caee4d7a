/**
 * Asks the edge whether it is alive, and exits with 0 if so: for health checks of container
 * engines, in images without curl. Takes the options and the environment of the edge itself.
 */

import { readConfig } from './config/config.ts';
import { nodeUrl } from './config/seeds.ts';
import { loopbackFor } from './listen/http-server.ts';

const TIMEOUT_MS = 4000;

const { host, port, tlsCert, httpPort } = readConfig(process.argv.slice(2), process.env);
const usesTls = tlsCert !== undefined && httpPort === undefined;
const url = nodeUrl(loopbackFor(host), httpPort ?? port, usesTls ? 'https' : 'http');
// This machine asks itself: the certificate need not be verified.
const options = { rejectUnauthorized: false, timeout: TIMEOUT_MS };
const { request } = process.getBuiltinModule(usesTls ? 'node:https' : 'node:http');
const asking = request(`${url}/-/live`, options);
asking
  .on('response', ({ statusCode }) => process.exit(statusCode === 200 ? 0 : 1))
  .on('timeout', () => asking.destroy())
  .on('error', () => process.exit(1))
  .end();
