import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import type { HttpAnswer } from '@millrace/shared/node/http-response';
import type { FileVersion } from '../files/file-version.ts';
import { checkAsked, checkContent, checkDeclared } from './content-check.ts';

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

describe('content that was requested by its digest', () => {
  const hex = createHash('sha256').update(body).digest('hex');
  const other = '0'.repeat(64);
  const whole = { start: 0, end: body.length };
  const ofLength = (length: number, digest?: string) =>
    ({ url: 'http://x/', length, digest, tag: 'e.1' }) as FileVersion;
  const refused = expect.objectContaining({ code: 'precondition-failed' });

  test('is compared if one chunk is all of it', async () => {
    const { length } = body;
    await checkAsked({ version: ofLength(length, hex), range: whole }, body);
    await checkAsked({ version: ofLength(length), range: whole }, body);
    const wrong = checkAsked({ version: ofLength(length, other), range: whole }, body);
    await expect(wrong).rejects.toEqual(refused);
  });

  test('cannot be compared with a part', async () => {
    const version = ofLength(body.length + 1, other);
    await checkAsked({ version, range: whole }, body);
    await checkAsked({ version, range: { start: 1, end: body.length + 1 } }, body);
  });

  test('is compared with the digest that the origin states for the whole file', () => {
    const said = answer({ 'repr-digest': `sha-256=:${sha256}:` });
    expect(checkDeclared(said, hex)).toBe(true);
    expect(checkDeclared(answer({}), hex)).toBe(false);
    expect(() => checkDeclared(said, other)).toThrow(refused);
  });
});
