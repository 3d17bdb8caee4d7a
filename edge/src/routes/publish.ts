/** The publishers' page, the Metalinks that it offers, and the files of all pages. */

import type { IncomingMessage } from 'node:http';
import type { Millis } from '@millrace/shared/base/clock';
import { asMillraceError, MillraceError } from '@millrace/shared/base/errors';
import { nameFromUrl } from '@millrace/shared/download/request/file-name';
import { whyAndWhat } from '@millrace/shared/http/answers/problem';
import { linkSnippets, signCommand } from '@millrace/shared/http/urls/link-snippets';
import { parsePastedLink } from '@millrace/shared/http/urls/pasted-link';
import { formatPrefixedUrl } from '@millrace/shared/http/urls/prefixed-url';
import type { ClientAddress } from '@millrace/shared/node/clients/client-address';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ClientLimits } from '../admission/client-limits.ts';
import type { CheckResult, LinkCheck } from '../check/link-check.ts';
import type { Config } from '../config/config.ts';
import { problemReply } from '../listen/problem-reply.ts';
import { loadAssets } from '../pages/assets.ts';
import { sendPage } from '../pages/layout.ts';
import { edgesMetalink } from '../pages/metalink.ts';
import { type Outcome, publisherPage } from '../pages/publisher-page.ts';
import { ruleWords } from '../pages/rule-words.ts';
import type { Membership } from '../peers/membership.ts';
import type { OriginPolicy } from '../policy/policy.ts';
import { PRESETS } from '../policy/presets.ts';
import { edgeName } from '../workers/worker-link.ts';
import { ownBase } from './own-address.ts';

export interface PublishRoutesOptions {
  readonly config: Config;
  readonly check: LinkCheck;
  readonly policy: OriginPolicy;
  readonly limits: ClientLimits;
  readonly clientAddress: ClientAddress;
  readonly membership: Membership;
  /** Monotonic milliseconds. */
  readonly now: () => Millis;
}

const METALINK_TYPE = 'application/metalink4+xml';
const FOR_EVER = 'public, max-age=31536000, immutable';

export async function publishRoutes(
  server: FastifyInstance,
  o: PublishRoutesOptions,
): Promise<void> {
  server.addHook('onSend', async (_request, reply) => {
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'no-store');
    reply.header('x-content-type-options', 'nosniff');
  });
  server.get('/', (request, reply) => showPage(o, request, reply));
  server.get('/-/check', (request, reply) => showPage(o, request, reply));
  server.get('/-/metalink', (request, reply) => sendMetalink(o, request, reply));
  // Programs recognise a Metalink by the name of the file.
  server.get('/-/metalink/:name', (request, reply) => sendMetalink(o, request, reply));
  server.get('/-/assets/:digest/:file', async (request, reply) => {
    const { digest, file } = request.params as Record<string, string>;
    const { folder, files } = await loadAssets();
    const asset = folder === `/-/assets/${digest}/` ? files.get(file ?? '') : undefined;
    if (asset === undefined) return sendProblem(reply, new MillraceError('no-such-page'));
    return reply.type(asset.type).header('cache-control', FOR_EVER).send(asset.body);
  });
}

async function showPage(o: PublishRoutesOptions, request: FastifyRequest, reply: FastifyReply) {
  const { config, membership } = o;
  const typed = linkIn(request);
  const base = ownBase(request.raw, config.publicUrl);
  let outcome: Outcome | undefined;
  let status = 200;
  if (typed !== undefined && typed.trim() !== '') {
    try {
      const { url, result } = await checkLink(o, request.raw, typed, base);
      outcome = checked(url, result, base, ruleWords(o.policy.rule(url)));
    } catch (thrown) {
      const error = asMillraceError(thrown);
      outcome = { kind: 'refused', title: error.row.title, text: whyAndWhat(error) };
      status = error.row.status;
      const { headers } = problemReply(error);
      if (headers['retry-after'] !== undefined) reply.header('retry-after', headers['retry-after']);
    }
  }
  const page = await publisherPage({
    edge: edgeName(config),
    base,
    served: o.policy.served,
    presets: o.policy.presets.map((name) => ({ name, preset: PRESETS[name] })),
    takesLinks: o.policy.takesLinks,
    chunkBytes: config.chunkSize,
    edges: distinct(membership.publicEdges()),
    typed,
    outcome,
  });
  return sendPage(reply.code(status), page);
}

async function sendMetalink(
  o: PublishRoutesOptions,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const base = ownBase(request.raw, o.config.publicUrl);
  try {
    const { url, result } = await checkLink(o, request.raw, linkIn(request) ?? '', base);
    if (result.kind === 'failed') throw result.error;
    const { report, seen } = result;
    if (report.service === 'none') {
      const finding = report.findings.find(({ grade }) => grade === 'bad');
      throw new MillraceError('origin-error', finding?.id ?? '');
    }
    const name = nameFromUrl(url.href);
    const body = edgesMetalink({ name, seen, report, edges: edgesFor(o, base) });
    return reply
      .type(METALINK_TYPE)
      .header('content-disposition', `attachment; filename*=UTF-8''${encoded(`${name}.meta4`)}`)
      .send(body);
  } catch (error) {
    return sendProblem(reply, asMillraceError(error));
  }
}

/**
 * Lists the edges that clients can use, this one first; only its own address if the network names
 * none.
 */
function edgesFor({ membership, config }: PublishRoutesOptions, base: string): string[] {
  const edges = membership.publicEdges().filter(({ healthy }) => healthy);
  const own = edges.filter(({ name }) => name === config.name);
  const others = edges.filter(({ name }) => name !== config.name);
  const urls = [...own, ...others.toSorted((a, b) => a.rttMs - b.rttMs)].map(({ url }) => url);
  const known = urls.filter((url) => url !== undefined);
  return known.length === 0 ? [base] : [...new Set(known)];
}

/** Keeps one entry for each address, which processes of one edge share. */
function distinct<T extends { readonly url: string | undefined }>(edges: readonly T[]): T[] {
  return [...new Map(edges.map((edge) => [edge.url, edge])).values()];
}

/**
 * Checks the link that a publisher has entered.
 *
 * @throws MillraceError if the link cannot be read, or the client is at its limits
 */
async function checkLink(
  { limits, clientAddress, check, config, now }: PublishRoutesOptions,
  req: IncomingMessage,
  typed: string,
  base: string,
): Promise<{ url: URL; result: CheckResult }> {
  const client = clientAddress.of(req.socket.remoteAddress, req.headers);
  const admission = limits.admit(client, now());
  const left = new AbortController();
  const onClose = () => left.abort(new MillraceError('interrupted', 'client left'));
  req.socket.once('close', onClose);
  try {
    const url = parsePastedLink(typed, [base], config.defaultScheme);
    return { url, result: await check.check(url, clientAddress.keyOf(client), left.signal) };
  } finally {
    req.socket.off('close', onClose);
    admission.release(now());
  }
}

function checked(url: URL, result: CheckResult, base: string, rules: readonly string[]): Outcome {
  const name = nameFromUrl(url.href);
  const metalinkPath = `/-/metalink/${encoded(`${name}.meta4`)}?link=${encodeURIComponent(url.href)}`;
  const prefixed = formatPrefixedUrl(base, url.href);
  const snippets = linkSnippets({ prefixed, metalink: `${base}${metalinkPath}`, name });
  const signing = signCommand(url.href, base);
  return { kind: 'checked', url: url.href, result, snippets, metalinkPath, name, rules, signing };
}

function linkIn(request: FastifyRequest): string | undefined {
  const { link } = request.query as Record<string, unknown>;
  return typeof link === 'string' ? link : undefined;
}

/** Encodes a name as RFC 8187 requires; good in paths as well. */
function encoded(name: string): string {
  return encodeURIComponent(name).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function sendProblem(reply: FastifyReply, error: MillraceError) {
  const { status, headers, body } = problemReply(error);
  return reply.code(status).headers(headers).send(body);
}
