import type { IncomingMessage, ServerResponse } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import { seededRandom } from '@millrace/shared/base/clock';
import { MillraceError } from '@millrace/shared/base/errors';
import { silentLog } from '@millrace/shared/base/log';
import { NetworkRtts } from '@millrace/shared/cdn/near/network-rtts';
import { PolicyRefusals, REFUSAL_MS } from '@millrace/shared/cdn/routing/policy-refusals';
import { NearEdges } from '../near/near-edges.ts';
import { NearHandler, type NearOptions } from './near.ts';

const CLIENT = '192.0.2.1';
const NETWORK = '192.0.2.0/24';
const FILE = 'https://origin.example/file';

/** A node of three whose policies are alike; `far` is the farthest from the client. */
function stage() {
  const clock = { now: 0 };
  const rtts = new NetworkRtts('own');
  const peers = ['near', 'far'].map((name, i) => {
    rtts.onTold(name, [[NETWORK, 5 + 100 * i]], 0);
    return { name, publicUrl: `https://${name}.example`, load: 0, weight: 1, room: 1, rtts: [10] };
  });
  rtts.onMeasured(NETWORK, 50, 0);
  const membership = { self: { name: 'own', load: 0, weight: 1 }, alike: () => peers };
  const refusals = new PolicyRefusals();
  const refuse = (node: string, url: string) =>
    refusals.onError(node, url, new MillraceError('private-address', 'origin.example'), clock.now);
  const publicUrl = 'https://own.example';
  const places = undefined;
  const handler = new NearHandler({
    ...{ publicUrl, defaultScheme: 'https', localAccess: undefined, log: silentLog },
    policy: { takesLinks: false, check() {}, named: (url: URL) => url },
    limits: { admit: () => ({ release() {} }) },
    clientAddress: { of: () => CLIENT },
    transfers: { draining: false, takesClients: true },
    membership,
    network: { refusing: (url: string) => refusals.nodes(url, clock.now) },
    clientRtts: { measure() {} },
    edges: new NearEdges({
      ...{ publicUrl, rtts, places, room: () => 1, now: () => clock.now, random: seededRandom(1) },
      membership: membership as unknown as NearOptions['membership'],
    }),
    metrics: { nearAnswers: { inc() {} }, errors: { inc() {} } },
    now: () => clock.now,
    wallClock: () => 0,
  } as unknown as NearOptions);
  /** Returns the edges that an answer names: the one it redirects to, then the others. */
  const named = (url: string): string[] => {
    let fields: Record<string, string> = {};
    const res = {
      setHeader() {},
      writeHead(status: number, headers: Record<string, string>) {
        expect(status).toBe(307);
        fields = headers;
        return res;
      },
      end() {},
    };
    const req = { method: 'GET', headers: {}, socket: { remoteAddress: CLIENT } };
    const [request, response] = [req, res] as unknown as [IncomingMessage, ServerResponse];
    handler.handle(request, response, `/-/near/${url}`);
    const others = [...(fields.link ?? '').matchAll(/<([^>]*)>/g)].map(([, other]) => other);
    return [fields.location, ...others].map((at) => new URL(at ?? '').hostname.split('.')[0] ?? '');
  };
  return { clock, refuse, named };
}

describe('a client that knows no edge', () => {
  test('is sent to the nearest one, and told of the others', () => {
    const { named } = stage();
    expect(named(FILE)).toEqual(['near', 'own', 'far']);
  });

  test('is not sent to a near edge that has refused the origin, nor told of it', () => {
    const { named, refuse } = stage();
    refuse('near', FILE);
    expect(named(FILE)).toEqual(['own', 'far']);
    expect(named('https://origin.example/another')).toEqual(['own', 'far']);
    expect(named('https://other.example/file')).toEqual(['near', 'own', 'far']);
  });

  test('is sent to such an edge again when the refusal has been forgotten', () => {
    const { named, refuse, clock } = stage();
    refuse('near', FILE);
    clock.now = REFUSAL_MS;
    expect(named(FILE)).toContain('near');
  });
});
