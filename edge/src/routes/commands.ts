/** Commands that other nodes send to this one, and the purges and pins that it tells them. */

import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { readOrThrow } from '@millrace/shared/schema/read';
import type { FastifyInstance } from 'fastify';
import type { Administration } from '../admin/administration.ts';
import { COMMAND, type Command } from '../cache/commands.ts';
import type { Pins } from '../cache/pins.ts';
import type { Purges } from '../cache/purges.ts';
import { problemReply } from '../listen/problem-reply.ts';
import type { ClusterAuth } from '../peers/cluster-auth.ts';
import { COMMAND_PATH, PINS_PATH, PURGE_LOG_PATH } from '../peers/node-requests.ts';
import { textDigest } from '../peers/text-digest.ts';

export interface CommandRoutesOptions {
  readonly administration: Administration;
  readonly purges: Purges;
  readonly pins: Pins;
  readonly auth: ClusterAuth;
  /** Undefined: no commands are taken. */
  readonly commandAuth: ClusterAuth | undefined;
}

export async function commandRoutes(
  server: FastifyInstance,
  o: CommandRoutesOptions,
): Promise<void> {
  // The body is kept as it came, because its digest is signed.
  server.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) =>
    done(null, body),
  );
  server.setErrorHandler((thrown, _request, reply) => {
    const { status, headers, body } = problemReply(asMillraceError(thrown));
    return reply.code(status).headers(headers).send(body);
  });

  server.post<{ Querystring: { digest?: string } }>(COMMAND_PATH, async (request, reply) => {
    const { commandAuth } = o;
    if (commandAuth === undefined) {
      throw new MillraceError('inside-request-refused', 'this node has no secret');
    }
    commandAuth.verify(request.raw, request.originalUrl);
    const text = String(request.body);
    if (textDigest(text) !== request.query.digest) {
      throw new MillraceError('inside-request-refused', 'the body is not what was signed');
    }
    const answer = JSON.stringify(await o.administration.carryOut(readCommand(text)));
    const signed = commandAuth.signAnswer(request.raw, ['200', textDigest(answer)]);
    return reply.type('application/json').headers(signed).send(answer);
  });

  const tell = (path: string, what: () => unknown) =>
    server.get(path, (request, reply) => {
      o.auth.verify(request.raw, request.originalUrl);
      const answer = JSON.stringify(what());
      const signed = o.auth.signAnswer(request.raw, ['200', textDigest(answer)]);
      return reply.type('application/json').headers(signed).send(answer);
    });
  tell(PURGE_LOG_PATH, () => o.purges.shared);
  tell(PINS_PATH, () => o.pins.shared);
}

/** Reads a command of another node. @throws MillraceError `bad-option` */
export function readCommand(text: string): Command {
  try {
    return readOrThrow(COMMAND, JSON.parse(text));
  } catch (cause) {
    throw new MillraceError('bad-option', 'not a command', { cause });
  }
}
