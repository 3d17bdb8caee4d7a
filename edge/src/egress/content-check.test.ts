import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import type { HttpAnswer } from '@millrace/shared/node/http-response';
import { checkContent } from './content-check.ts';

const body = Buffer.from('bytes of the file');
const sha256 = createHash('sha256').update(body).digest('base64');
const answer = (headers: Record<string, string>) => ({ status: 206, headers }) as HttpAnswer;

describe('checkContent', () => {
  test('lets bytes through that have their digest, and those without one', () => {
    expect(() => checkContent(answer({}), body)).not.toThrow();
    const right = answer({ 'content-digest': `sha-256=:${sha256}:` });
    expect(() => checkContent(right, body)).not.toThrow();
  });

  test('refuses bytes that were damaged on the way', () => {
    const damaged = Buffer.from(body);
    damaged[3] = (damaged[3] as number) ^ 1;
    const given = answer({ 'content-digest': `sha-256=:${sha256}:` });
    expect(() => checkContent(given, damaged)).toThrow(
      expect.objectContaining({ code: 'wrong-digest' }),
    );
  });
});
