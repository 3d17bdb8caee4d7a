/**
 * Keeps files of strangers out of the edge's own web origin. A proxied page has the same scheme,
 * name and port as the dashboard: without isolation it could read the dashboard, or show a log-in
 * of its own under the edge's address.
 */

import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { isOfNode } from '../peers/node-requests.ts';
import type { LocalAccess } from '../policy/local-access.ts';
import { problemReply } from './problem-reply.ts';

/**
 * Fields that isolate every answer to a prefixed URL (CSP 3, 6.3.2; Fetch, 3.6): a page gets an
 * origin of its own, runs no script and sends no form, and its type is the declared one. Its links
 * may lead to downloads, as in lists of files: no script can click them, and a file that a frame
 * saves could be saved by the same link on any other site. None of these fields is passed on from
 * the origin, so that nothing weakens them.
 */
const FILE_FIELDS = [
  ['content-security-policy', 'sandbox allow-downloads'],
  ['x-content-type-options', 'nosniff'],
] as const;

/**
 * Sets the fields on all answers to prefixed URLs, errors and redirects among them, and refuses
 * requests for service workers, which would see every request to the edge's origin.
 *
 * @param isOwn whether a request target is one of the edge's own pages
 */
export function isolateFiles(server: FastifyInstance, isOwn: (target: string) => boolean): void {
  server.addHook('onRequest', (request, reply, done) => {
    if (!isOwn(request.originalUrl)) {
      // On the bare response: most of these requests are answered past the framework.
      for (const [name, value] of FILE_FIELDS) reply.raw.setHeader(name, value);
    }
    if (request.headers['service-worker'] === undefined) return done();
    void refuse(reply, new MillraceError('bad-request', 'there are no service workers here'));
  });
}

/**
 * Guards an edge of one user against web pages of other sites: refuses their requests, whatever the
 * path, and makes browsers keep the edge's answers from them.
 *
 * @param signed true if other nodes sign their requests, which lets them in under any name
 */
export function guardLocal(server: FastifyInstance, access: LocalAccess, signed: boolean): void {
  server.addHook('onRequest', (request, reply, done) => {
    reply.raw.setHeader('cross-origin-resource-policy', 'same-origin');
    const { headers, originalUrl: url } = request;
    if (signed && isOfNode({ headers, url })) return done();
    try {
      access.scope(headers);
    } catch (error) {
      return void refuse(reply, asMillraceError(error));
    }
    done();
  });
}

function refuse(reply: FastifyReply, error: MillraceError): FastifyReply {
  const { status, headers, body } = problemReply(error);
  return reply.code(status).headers(headers).send(body);
}
