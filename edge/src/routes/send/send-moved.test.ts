import type { ServerResponse } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import type { LinkGrant } from '@millrace/shared/node/link-signature';
import type { Exchange } from '../../clients/exchanges.ts';
import { AllowList } from '../../policy/allow-list.ts';
import { LocalAccess } from '../../policy/local-access.ts';
import { OriginPolicy } from '../../policy/policy.ts';
import { sendMoved } from './send-moved.ts';

const POLICY = new OriginPolicy(new AllowList(['listed.example']));
const HTML = { 'content-type': 'text/html' };

/** Answers a request for a page. @returns status and header of the redirect; undefined: none */
function answered(
  asked: string,
  found: string,
  {
    localAccess,
    ...of
  }: Partial<Pick<Exchange, 'grant' | 'scope'> & { localAccess: LocalAccess }> = {},
  headers: Record<string, string> = HTML,
) {
  let sent: { status: number; headers: Record<string, string> } | undefined;
  const res = {
    writeHead: (status: number, fields: Record<string, string>) => {
      sent = { status, headers: fields };
    },
    end: () => {},
  } as unknown as ServerResponse;
  const exchange = { res, url: new URL(asked), ...of } as Exchange;
  const outcome = { hit: false, fwd: 'uri-miss' } as const;
  const isSent = sendMoved({ name: 'edge', policy: POLICY, localAccess }, exchange, {
    url: new URL(found),
    headers,
    outcome,
  });
  expect(isSent).toBe(sent !== undefined);
  return sent;
}

/** A permit for everything below a URL. */
const grantBelow = (prefix: string): LinkGrant => ({
  permit: '99.signature.20',
  origin: new URL(prefix).origin,
  redirects: false,
  covers: ({ href }) => href.startsWith(prefix),
});

test('a page that has moved is answered with a redirect to its own prefixed URL', () => {
  expect(answered('http://listed.example/dir', 'http://listed.example/dir/?a=b')).toEqual({
    status: 307,
    headers: {
      location: '/http://listed.example/dir/?a=b',
      'content-length': '0',
      'cache-control': 'no-store',
      via: '1.1 edge',
      'cache-status': 'edge; fwd=uri-miss',
    },
  });
});

test('a file is sent under the URL that was asked for', () => {
  const headers = { 'content-type': 'application/gzip' };
  const to = 'http://listed.example/dir/';
  expect(answered('http://listed.example/dir', to, {}, headers)).toBeUndefined();
});

test('pages of other sites may follow where they may read the page, but not at the edge of one user', () => {
  const fields = { 'access-control-allow-origin': '*' };
  const moved = (o: { localAccess?: LocalAccess }) =>
    answered('http://listed.example/a', 'http://listed.example/a/', o, { ...HTML, ...fields });
  expect(moved({})?.headers).toMatchObject(fields);
  const localAccess = new LocalAccess('a token of some length');
  expect(moved({ localAccess })?.headers).not.toHaveProperty(['access-control-allow-origin']);
});

describe('a page behind a signed link', () => {
  const asked = 'http://hidden.example/dir/a';

  test('is redirected to with the permit, if that covers its URL', () => {
    const grant = grantBelow('http://hidden.example/dir/');
    const { headers } = answered(asked, 'http://hidden.example/dir/a/', { grant }) ?? {};
    expect(headers?.location).toBe('/-/signed/99.signature.20/http://hidden.example/dir/a/');
  });

  test('is sent as it is, if only the redirect lets the client have it', () => {
    const grant = grantBelow(asked);
    expect(answered(asked, 'http://hidden.example/b/', { grant })).toBeUndefined();
  });

  test('is redirected to without the permit, if everybody may have it', () => {
    const grant = grantBelow(asked);
    const { headers } = answered(asked, 'http://listed.example/', { grant }) ?? {};
    expect(headers?.location).toBe('/http://listed.example/');
  });
});

test('a private request is redirected to pages that only it may have', () => {
  const [asked, found] = ['http://own.example/dir', 'http://own.example/dir/'];
  expect(answered(asked, found)).toBeUndefined();
  expect(answered(asked, found, { scope: 'private' })?.headers.location).toBe(`/${found}`);
});
