import { expect, test } from '@jest/globals';
import fc from 'fast-check';
import { cut } from './stream-upload.ts';

test('a stream is cut into equal parts, whatever pieces it comes in, and the last one ends it', async () => {
  const pieces = fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(pieces, fc.integer({ min: 1, max: 30 }), async (given, partBytes) => {
      const parts: { bytes: Buffer; isLast: boolean }[] = [];
      const input = (async function* () {
        yield* given;
      })();
      for await (const part of cut(input, partBytes)) parts.push(part);
      const whole = Buffer.concat(given);
      expect(Buffer.concat(parts.map(({ bytes }) => bytes)).equals(whole)).toBe(true);
      expect(parts.map(({ isLast }) => isLast)).toEqual(
        parts.map((_, i) => i === parts.length - 1),
      );
      for (const { bytes } of parts.slice(0, -1)) expect(bytes.length).toBe(partBytes);
      // An empty part would be one more request.
      if (whole.length > 0) expect(parts.at(-1)?.bytes.length).toBeGreaterThan(0);
    }),
  );
});
