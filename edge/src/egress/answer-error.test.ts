import { describe, expect, test } from '@jest/globals';
import type { OriginPause } from '@millrace/shared/cdn/chunks/origin-pause';
import type { HttpAnswer, HttpResponse } from '@millrace/shared/node/http-response';
import { problemReply } from '../listen/problem-reply.ts';
import { answerError, begunBytes } from './answer-error.ts';

const CHUNK = 1000;
const pause = {} as OriginPause;
const denied = (challenge: string | string[] | undefined) =>
  answerError(
    {
      status: 401,
      headers: challenge === undefined ? {} : { 'www-authenticate': challenge },
    } as HttpAnswer,
    pause,
    0,
  );

describe('an origin that asks for a log-in', () => {
  test('is told of as such, with a status at which no client asks its user for a password', () => {
    const error = denied('Basic realm="the edge"');
    expect(error.code).toBe('origin-login');
    const { status, headers, body } = problemReply(error);
    expect([status, headers]).toEqual([
      403,
      expect.not.objectContaining({ 'www-authenticate': expect.anything() }),
    ]);
    expect(body).not.toContain('the edge');
  });

  test.each([
    ['Basic realm="x"', 'it answered 401 and asks for Basic'],
    ['Bearer', 'it answered 401 and asks for Bearer'],
    [['Negotiate', 'NTLM'], 'it answered 401 and asks for Negotiate'],
    [`${'B'.repeat(40)} x`, 'it answered 401'],
    ['<b> x', 'it answered 401'],
    ['', 'it answered 401'],
    [undefined, 'it answered 401'],
  ])('by %j: %s', (challenge, detail) => {
    expect(denied(challenge).detail).toBe(detail);
  });
});

describe('the bytes that an origin has begun to send of a body that is given up', () => {
  const begun = (method: 'GET' | 'HEAD', status: number, length?: string) =>
    begunBytes(
      {
        method,
        status,
        headers: length === undefined ? {} : { 'content-length': length },
      } as HttpResponse,
      CHUNK,
    );

  test.each([
    ['GET', 200, '5', 5],
    ['GET', 200, '50000', CHUNK],
    ['GET', 200, undefined, CHUNK],
    ['GET', 200, 'x', CHUNK],
    ['GET', 304, undefined, 0],
    ['HEAD', 200, '50000', 0],
    ['HEAD', 200, undefined, 0],
  ] as const)('%s, %d, of length %j: %d', (method, status, length, bytes) => {
    expect(begun(method, status, length)).toBe(bytes);
  });
});
