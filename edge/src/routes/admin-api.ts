/**
 * Purging, prefetching and pinning over HTTP. All of it requires the administration token; the
 * holder of a pin's capability can also extend and release the pin.
 */

import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import {
  type PurgeTarget,
  parseFileUrl,
  parseLabel,
  parsePrefix,
  parseVersion,
} from '@millrace/shared/cdn/upkeep/purge-target';
import { tryRead } from '@millrace/shared/schema/read';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type * as z from 'zod';
import type { Administration } from '../admin/administration.ts';
import { LEASE_BODY, PIN_BODY, PREFETCH_BODY, PURGE_BODY } from '../cache/commands.ts';
import type { Config } from '../config/config.ts';
import type { OriginPolicy } from '../policy/policy.ts';
import { bearer, isAdmin, sendProblem } from './admin.ts';

export interface AdminApiOptions {
  readonly config: Config;
  readonly administration: Administration;
  readonly policy: OriginPolicy;
}

type WithId = { Params: { id: string }; Querystring: { network?: string } };

export async function adminApi(server: FastifyInstance, o: AdminApiOptions): Promise<void> {
  const { administration, config, policy } = o;
  answerWithProblems(server);
  const requireToken = (request: FastifyRequest) => {
    if (!isAdmin(request, config.adminTokenFile)) throw new MillraceError('token-required');
  };
  const requirePin = (request: FastifyRequest<WithId>) => {
    if (isAdmin(request, config.adminTokenFile)) return;
    if (administration.holds(request.params.id, bearer(request))) return;
    throw new MillraceError('token-required', 'or the capability of the pin');
  };
  const fileUrl = (text: string) => {
    const url = policy.named(parseFileUrl(text, config.defaultScheme));
    policy.check(url, 'public');
    return url;
  };
  const token = { onRequest: async (request: FastifyRequest) => requireToken(request) };
  const capability = {
    onRequest: async (request: FastifyRequest) => requirePin(request as FastifyRequest<WithId>),
  };

  server.post('/-/purge', token, async (request) => {
    const body = readBody(PURGE_BODY, request.body);
    return administration.purge(
      targetOf(body, config.defaultScheme, policy),
      body.network === true,
    );
  });

  server.post('/-/prefetch', token, async (request, reply) => {
    const { url, rate, sha256 } = readBody(PREFETCH_BODY, request.body);
    const prefetch = await administration.prefetch({ url: fileUrl(url), rate, sha256 });
    return reply.code(202).header('location', `/-/prefetch/${prefetch.id}`).send(prefetch);
  });
  server.get('/-/prefetch', token, async () => ({ prefetches: await administration.prefetches() }));
  server.get<WithId>('/-/prefetch/:id', token, async ({ params: { id } }) => {
    const found = (await administration.prefetches()).find((prefetch) => prefetch.id === id);
    if (found !== undefined) return found;
    throw new MillraceError('no-such-entry', `no prefetch ${id}`);
  });
  server.delete<WithId>('/-/prefetch/:id', token, ({ params }) =>
    administration.stopPrefetch(params.id),
  );

  server.post('/-/pins', token, async (request, reply) => {
    const body = readBody(PIN_BODY, request.body);
    const url = fileUrl(body.url);
    const { seconds, bytes, network } = body;
    const pinned = await administration.pin(url, seconds * 1000, bytes, network === true);
    const prefetch = body.prefetch === true ? await administration.prefetch({ url }) : undefined;
    return reply
      .code(201)
      .header('location', `/-/pins/${pinned.pin.id}`)
      .send({ ...pinned, prefetch });
  });
  server.get('/-/pins', token, () => administration.pins());
  server.patch<WithId>('/-/pins/:id', capability, async (request) => {
    const { seconds, network } = readBody(LEASE_BODY, request.body);
    return administration.extend(request.params.id, seconds * 1000, network === true);
  });
  server.delete<WithId>('/-/pins/:id', capability, ({ params, query }) =>
    administration.release(params.id, query.network === 'true'),
  );
}

/** Turns the framework's own refusals (too large, no JSON) into problems of the table as well. */
export function answerWithProblems(server: FastifyInstance): void {
  server.addHook('onSend', async (_request, reply) => {
    reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
  });
  server.setErrorHandler((thrown, _request, reply) => {
    const { statusCode = 500, message } = thrown as { statusCode?: number; message: string };
    const isTheirs = !(thrown instanceof MillraceError) && statusCode >= 400 && statusCode < 500;
    const error = isTheirs ? new MillraceError('bad-option', message) : asMillraceError(thrown);
    if (error.code === 'internal')
      server.log.error({ err: error.cause ?? error }, 'internal error');
    return sendProblem(reply, error);
  });
}

/**
 * Reads the body of an administrator's request.
 *
 * @throws MillraceError `bad-option` that says which part is wrong
 */
export function readBody<S extends z.ZodType>(schema: S, body: unknown): z.infer<S> {
  const result = tryRead(schema, body);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = issue?.path.join('.') ?? '';
  throw new MillraceError('bad-option', `${path === '' ? 'the body' : path}: ${issue?.message}`);
}

function targetOf(
  body: z.infer<typeof PURGE_BODY>,
  scheme: 'http' | 'https',
  policy: OriginPolicy,
): PurgeTarget {
  if ('all' in body) return { kind: 'all' };
  if ('label' in body) return parseLabel(body.label);
  if ('prefix' in body) return parsePrefix(body.prefix, scheme);
  const { href } = policy.named(parseFileUrl(body.url, scheme));
  if (body.version === undefined) return { kind: 'url', url: href };
  return { kind: 'version', url: href, tag: parseVersion(body.version) };
}
