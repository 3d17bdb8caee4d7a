/** An HTTP server on loopback that runs as long as the tests of a file; for tests only. */

import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll } from '@jest/globals';

export interface TestServer {
  /** URL of the server, without a path; known once the first test begins. */
  readonly url: string;
}

/** Serves HTTP on a free port while the tests of a file, or of a `describe`, run. */
export function serveHttp(answer: RequestListener): TestServer {
  const server = createServer(answer);
  beforeAll(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    get url() {
      return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    },
  };
}
