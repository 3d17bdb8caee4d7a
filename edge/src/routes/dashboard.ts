/** The dashboard: log-in by the administration token, the page, and its data. */

import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { GuessLimit } from '@millrace/shared/base/guess-limit';
import { mostRefused, type RefusalReport } from '@millrace/shared/cdn/admission/refusal-log';
import type { Revocations, RevocationsSnapshot } from '@millrace/shared/cdn/admission/revocations';
import { countsCsv } from '@millrace/shared/cdn/figures/download-table';
import { type FigureSteps, stepsSince } from '@millrace/shared/cdn/figures/figure-history';
import { SharedAnswer } from '@millrace/shared/cdn/figures/shared-answer';
import type { ClientAddress } from '@millrace/shared/node/clients/client-address';
import { clientKey } from '@millrace/shared/node/clients/client-key';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { DashboardSessions } from '../admin/sessions.ts';
import type { Admissions } from '../admission/admissions.ts';
import type { Config } from '../config/config.ts';
import { type InRange, RANGES, type RangeName, readRange } from '../figures/dashboard-figures.ts';
import type { Downloads } from '../figures/download-counter.ts';
import { problemReply } from '../listen/problem-reply.ts';
import { dashboardPage, loginPage, noTokenPage } from '../pages/dashboard-page.ts';
import { sendPage } from '../pages/layout.ts';
import type { OriginPolicy } from '../policy/policy.ts';
import { edgeName } from '../workers/worker-link.ts';
import { isAdmin } from './admin.ts';
import { CSV_TYPE, downloadSummary, readDays } from './downloads.ts';
import { isEncrypted, ownBase } from './own-address.ts';

export interface DashboardRoutesOptions {
  readonly config: Config;
  readonly admissions: Admissions;
  readonly policy: OriginPolicy;
  readonly clientAddress: ClientAddress;
  /** Sessions that have ended before their time, at this process. */
  readonly revocations: Revocations;
  /** Ends sessions at all processes of this edge. */
  readonly logOut: (ending: RevocationsSnapshot) => Promise<void>;
  /** Undefined without an administration token. */
  readonly downloads: Pick<Downloads, 'read'> | undefined;
  /** Collects the figures of all processes of this edge, as JSON. */
  readonly collect: () => Promise<string>;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
  /** Unix milliseconds. */
  readonly wallClock: () => Millis;
}

/** Time for which all watchers share collected figures, so that many cost no more than one. */
const SHARED_MS = 1000;
const MAX_FORM_BYTES = 4096;
/** Most clients whose wrong tokens are counted; each waits for its own only. */
const MAX_GUESSERS = 10_000;
/** Most clients shown among the refused, those refused most. */
const SHOWN_CLIENTS = 20;
const LOGGED_IN = '/-/dashboard';
const CHALLENGE = { 'www-authenticate': 'Bearer' };

/** Data that the page is sent. */
interface Snapshot {
  readonly history: FigureSteps;
  readonly day: FigureSteps;
  readonly ranges: Readonly<Record<RangeName, InRange>>;
  readonly refused: RefusalReport['clients'];
}

export async function dashboardRoutes(
  server: FastifyInstance,
  o: DashboardRoutesOptions,
): Promise<void> {
  const { config, clientAddress, now } = o;
  const token = config.adminTokenFile;
  const guesses = new LRUCache<string, GuessLimit>({ max: MAX_GUESSERS });
  const name = edgeName(config);
  const sessions =
    token === undefined
      ? undefined
      : new DashboardSessions({ token, name, revocations: o.revocations, now: o.wallClock });
  const shared = new SharedAnswer(
    async () => JSON.parse(await o.collect()) as Snapshot,
    SHARED_MS,
    now,
  );

  server.addHook('onSend', async (_request, reply) => {
    reply.header('cache-control', 'no-store').header('x-content-type-options', 'nosniff');
  });
  server.addHook('onRequest', async (request, reply) => {
    try {
      if (request.method === 'POST') checkOrigin(request, config.publicUrl);
    } catch (error) {
      await sendProblem(reply, asMillraceError(error));
    }
  });
  server.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: MAX_FORM_BYTES },
    (_request, body, done) => done(null, new URLSearchParams(String(body))),
  );

  const isLoggedIn = (request: FastifyRequest) =>
    isAdmin(request, token) ||
    sessions?.isGood(request.headers.cookie, request.socket.localPort as number) === true;

  server.get('/-/dashboard', async (request, reply) => {
    if (sessions === undefined) return sendPage(reply.code(403), await noTokenPage(name));
    if (isLoggedIn(request)) return sendPage(reply, await dashboardPage(name, o.policy));
    return sendPage(reply.code(401).headers(CHALLENGE), await loginPage(name, undefined));
  });

  server.post('/-/dashboard/login', async (request, reply) => {
    if (sessions === undefined) return sendProblem(reply, new MillraceError('token-required'));
    const client = clientKey(clientAddress.of(request.socket.remoteAddress, request.headers));
    const guess = guesses.get(client) ?? new GuessLimit();
    guesses.set(client, guess);
    const wait = guess.waitMs(now());
    const given = request.body instanceof URLSearchParams ? request.body.get('token') : null;
    const right = wait === 0 && sessions.matches((given ?? '').trim());
    if (right) {
      guess.onRight();
      const port = request.socket.localPort as number;
      reply.header('set-cookie', sessions.begin(port, isEncrypted(request.raw)));
      return reply.redirect(LOGGED_IN, 303);
    }
    if (wait === 0) guess.onWrong(now());
    if (wait > 0) o.admissions.refused('guesses', 'refused', client);
    const seconds = Math.ceil(guess.waitMs(now()) / 1000);
    reply.headers(CHALLENGE);
    if (seconds > 0) reply.header('retry-after', String(seconds));
    const why = wait > 0 ? 'too-soon' : 'wrong';
    return sendPage(reply.code(wait > 0 ? 429 : 401), await loginPage(name, why));
  });

  server.post('/-/dashboard/logout', async (request, reply) => {
    if (sessions === undefined) return reply.redirect(LOGGED_IN, 303);
    const { cookie } = request.headers;
    const port = request.socket.localPort as number;
    const everywhere =
      request.body instanceof URLSearchParams && request.body.get('everywhere') === 'yes';
    const ending = sessions.ending(cookie, port, everywhere);
    // Copies of the cookie become void as well.
    if (ending !== undefined) await o.logOut(ending);
    return reply.header('set-cookie', sessions.end(port)).redirect(LOGGED_IN, 303);
  });

  server.get('/-/dashboard/data', async (request, reply) => {
    if (!isLoggedIn(request)) return sendProblem(reply, new MillraceError('token-required'));
    const { day, ranges, ...snapshot } = await shared.get();
    const { since, range: asked } = request.query as Record<string, unknown>;
    const range = readRange(asked);
    const steps = RANGES[range].isDay ? day : snapshot.history;
    const from = typeof since === 'string' && /^\d{1,12}$/.test(since) ? Number(since) : 0;
    const refused = mostRefused(snapshot.refused, SHOWN_CLIENTS);
    return { ...snapshot, ...ranges[range], history: stepsSince(steps, from), refused };
  });

  const counts = async (request: FastifyRequest) => {
    if (!isLoggedIn(request)) throw new MillraceError('token-required');
    return (await o.downloads?.read(readDays(request.query))) ?? [];
  };
  server.setErrorHandler((thrown, _request, reply) => sendProblem(reply, asMillraceError(thrown)));
  server.get('/-/dashboard/downloads', async (request) => downloadSummary(await counts(request)));
  server.get('/-/dashboard/downloads.csv', async (request, reply) => {
    const rows = countsCsv(await counts(request));
    const name = `attachment; filename="downloads.csv"`;
    return reply.type(CSV_TYPE).header('content-disposition', name).send(rows);
  });
}

/** Refuses forms of other sites: they must not log users in or out. */
function checkOrigin(request: FastifyRequest, publicUrl: string | undefined): void {
  const { origin } = request.headers;
  const own = [ownBase(request.raw, undefined), ownBase(request.raw, publicUrl)];
  if (origin !== undefined && own.includes(origin.toLowerCase())) return;
  throw new MillraceError('token-required', 'the form must come from the page of this edge');
}

function sendProblem(reply: FastifyReply, error: MillraceError) {
  const { status, headers, body } = problemReply(error);
  if (status === 401) reply.headers(CHALLENGE);
  return reply.code(status).headers(headers).send(body);
}
