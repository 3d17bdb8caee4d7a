/** Answers an authority that looks whether this edge has the name of its certificate (RFC 8555 8.3). */

import { MillraceError } from '@millrace/shared/base/errors';
import type { FastifyInstance } from 'fastify';
import type { AcmeFolder } from '../listen/acme/acme-folder.ts';
import { ACME_PATH } from '../listen/http-server.ts';
import { sendProblem } from './admin.ts';

export async function acmeRoutes(
  server: FastifyInstance,
  { folder }: { readonly folder: AcmeFolder | undefined },
): Promise<void> {
  server.get<{ Params: { token: string } }>(`${ACME_PATH}:token`, async (request, reply) => {
    const answer = await folder?.answer(request.params.token);
    if (answer === undefined) return sendProblem(reply, new MillraceError('no-such-page'));
    return reply
      .type('application/octet-stream')
      .header('cache-control', 'no-store')
      .header('x-content-type-options', 'nosniff')
      .send(answer);
  });
}
